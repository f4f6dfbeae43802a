"""Who may come in: people, tokens, sessions, and sign-in at an identity provider."""

__all__: list[str] = []
