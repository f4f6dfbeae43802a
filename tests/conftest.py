"""Two profiles for property tests: `ci`, quick and always the same, and `full` (TACIT_TESTS=full: `make test-all`)."""

import os

from hypothesis import settings

settings.register_profile("ci", max_examples=30, deadline=None, derandomize=True)
settings.register_profile("full", max_examples=1000, deadline=None)
settings.load_profile("full" if os.environ.get("TACIT_TESTS") == "full" else "ci")
