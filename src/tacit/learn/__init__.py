"""Private training: a plan is a Loss before it is a run, charged once, and run under its receipt."""

__all__: list[str] = []
