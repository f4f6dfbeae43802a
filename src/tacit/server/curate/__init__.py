"""What a curator changes through the service: sources, drafts, policy files, requests, checks."""

__all__: list[str] = []
