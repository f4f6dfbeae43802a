"""PostgreSQL's wire protocol: psql and everything that speaks it ask here, with user and token."""

from tacit.server.wire.link import WireLimits, WireTally
from tacit.server.wire.serve import serve_wire

__all__ = ["WireLimits", "WireTally", "serve_wire"]
