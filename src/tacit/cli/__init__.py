"""The command line."""

from tacit.cli.app import app, main

__all__ = ["app", "main"]
