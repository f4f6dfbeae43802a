"""A release as a file to be downloaded: its bytes, their media type, and how its name ends."""

from typing import NamedTuple

__all__ = ["OCTETS", "ReleaseFile", "ending_of"]

OCTETS = "application/octet-stream"
ENDINGS = {
    "application/json": ".json",
    "application/vnd.apache.arrow.stream": ".arrow",
    "application/vnd.apache.parquet": ".parquet",
    "application/x-npz": ".npz",
    "text/csv": ".csv",
    "text/plain": ".txt",
}


class ReleaseFile(NamedTuple):
    """What is sent, and what the file is called in the end."""

    content: bytes
    media: str
    ending: str


def ending_of(kind: str, media: str) -> str:
    """How the name of a release's file ends; a model in bytes is of the safetensors form."""
    return ".safetensors" if (kind, media) == ("model", OCTETS) else ENDINGS.get(media, ".bin")
