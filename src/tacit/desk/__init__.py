"""The desk: the one way from a priced program to a release. Decide, recall, charge, begin, run, keep, show."""

__all__: list[str] = []
