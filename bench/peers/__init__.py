"""The peers, each asked in its own process: `python -m bench.peers.NAME …` prints what it measured as JSON.

They import nothing of tacit, so that an interpreter with a peer's own pinned versions can run them.
"""
