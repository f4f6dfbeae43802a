"""A round of a secure sum: bytes and processor time of a client and of the server, beside plain federated averaging.

python -m bench.federated
"""

from time import process_time
from typing import Any

import numpy as np

from tacit.learn.federated.cohort import Cohort
from tacit.learn.federated.masked_client import MaskedClient
from tacit.learn.federated.masked_sum import MaskedSum
from tacit.learn.federated.rehearsal import size_of

RUN = bytes(16)


def measured(clients: int, dimension: int) -> tuple[float, float, float, float]:
    """Seconds of a client and of the server, bytes a client sends and is sent."""
    cohort = Cohort(clients=clients, survivors=clients * 4 // 5, clip=1, dimension=dimension, bits=16)
    terms, gone = cohort.terms(run=RUN, round=1), range(clients * 9 // 10 + 1, clients + 1)
    vector = np.full(dimension, 0.5 / np.sqrt(dimension))
    inside, sent, told = 0.0, 0, 0
    people = {place: MaskedClient(terms, place) for place in range(1, clients + 1)}

    def exchange(stage: str, messages: dict[int, dict[str, Any]]) -> dict[int, Any]:
        nonlocal inside, sent, told
        start, answers = process_time(), {}
        for place, message in messages.items():
            words = cohort.encode(vector, sigma=1, name=b"bench") if stage == "upload" else None
            if not (stage == "upload" and place in gone):
                answers[place] = people[place].answer(stage, message, words)
        inside += process_time() - start
        sent, told = sent + sum(map(size_of, answers.values())), told + sum(map(size_of, messages.values()))
        return answers

    start = process_time()
    MaskedSum(terms).run(exchange)
    return inside / clients, process_time() - start - inside, sent / clients, told / clients


def plain(clients: int, dimension: int) -> float:
    """Seconds of a server that adds up vectors of single precision."""
    vectors = [np.full(dimension, 0.5, np.float32)] * clients
    start = process_time()
    for _ in range(20):
        total = np.zeros(dimension, np.float32)
        for each in vectors:
            total += each
    return (process_time() - start) / 20


def main() -> None:
    print("a tenth of the clients drop out after they shared; 16 bits a number; plain: single precision, one message")
    print("clients   numbers    client    server   plain server      sent   × plain      told")
    for clients, dimension in ((20, 4096), (20, 1 << 20), (100, 4096), (100, 1 << 17), (1000, 4096)):
        client, server, sent, told = measured(clients, dimension)
        times = f"{client * 1e3:7.0f} ms{server * 1e3:7.0f} ms{plain(clients, dimension) * 1e3:12.1f} ms"
        bytes_ = f"{sent / 1e3:7.0f} kB{sent / (4 * dimension):9.2f}{told / 1e3:7.0f} kB"
        print(f"{clients:7}{dimension:10,}{times}{bytes_}")


if __name__ == "__main__":
    main()
