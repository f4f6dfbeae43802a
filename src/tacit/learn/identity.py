"""Which data a training is of, as a name that tells nobody anything of them.

A hash of the data alone would let whoever knows all rows but one try out the last. So it is keyed by a secret of the
dataset's own, which lies beside its ledger and is read by its owner alone; without it the name is a random text that
differs where the data do. Where the secret is lost, or another machine has its own, the same plan is paid for anew.
"""

import os
from hmac import digest
from pathlib import Path

from tacit.base import InputError
from tacit.base.private_file import private_folder, write_private
from tacit.desk.state import jobs_folder
from tacit.noise import rng_or_default
from tacit.policy import Policy

__all__ = ["data_name"]

SECRET, SIZE = "data.key", 32


def data_name(mark: str, policy: Policy) -> str:
    """The name of data with this mark, under this dataset."""
    return digest(_secret(jobs_folder(policy)), mark.encode(), "sha256").hex()


def _secret(folder: Path) -> bytes:
    path = private_folder(folder) / SECRET
    if not path.exists():
        fresh = folder / f"{SECRET}.{os.getpid()}"
        fresh.unlink(missing_ok=True)
        write_private(fresh, bytes(rng_or_default(None).read(SIZE)))
        try:
            os.link(fresh, path)  # whole or not at all, and never over that of another process
        except FileExistsError:
            pass
        finally:
            fresh.unlink()
    found = path.read_bytes()
    if len(found) != SIZE:
        raise InputError(f"{path} is damaged: remove it; what was trained on data of your own is then paid for anew")
    return found
