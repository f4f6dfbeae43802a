"""Peers that answer questions about people, each run by an interpreter of its own: `python -m bench.peers.people.NAME`.

A script reads one line of JSON and prints one for each task: the answers of every trial with the processor time of one,
or why it cannot. They import nothing of this project but `bench.peers.people.protocol`, which needs nothing installed.
"""
