"""Questions of signed-in people: the open datasets, what runs, jobs, and releases that were given."""

__all__: list[str] = []
