"""Standing in line."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

from tacit.ledger.queue import Queue, QueuedWork


def test_the_line_is_served_in_order_and_survives_interrupts() -> None:
    order: list[int] = []
    gate = threading.Event()

    def serve(asks: list[QueuedWork]) -> None:
        gate.wait()
        order.extend(ask.what for ask in asks)

    queue = Queue(serve)
    with ThreadPoolExecutor(4) as pool:
        futures = []
        for number in range(4):
            futures.append(pool.submit(queue.put, QueuedWork(number, writes=True)))
            while len(queue._waiting) < number or not queue._led:
                time.sleep(0.001)
        lost = queue._waiting[0]
        queue._desert(lost, leading=False)
        lost.served = True
        lost.wake.release()
        gate.set()
        for future in futures:
            future.result()
    assert order == [0, 2, 3]
    assert not queue._led
