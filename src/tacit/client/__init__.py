"""The desk over the network: the same questions, answered by a service that somebody else runs."""

from tacit.client.connection import Connection, connect

__all__ = ["Connection", "connect"]
