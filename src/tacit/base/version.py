"""The version of this software, which certificates name."""

__all__ = ["VERSION"]

VERSION = "0.1.0"
