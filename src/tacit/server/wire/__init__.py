"""PostgreSQL's wire protocol: psql and everything that speaks it ask here, with user and token."""

from tacit.server.wire.serve import Limits, serve_wire

__all__ = ["Limits", "serve_wire"]
