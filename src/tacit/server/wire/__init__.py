"""PostgreSQL's wire protocol: psql and everything that speaks it ask here, with user and token."""

from tacit.server.wire.serve import WireLimits, serve_wire

__all__ = ["WireLimits", "serve_wire"]
