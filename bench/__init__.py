"""Benchmarks, each beside a named peer or limit measured in the same run. `python -m bench` runs all of them."""
