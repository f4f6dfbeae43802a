"""tacit's synthetic rows, in a process of their own as those of peers are: `synth_tacit.py METHOD EPSILON DELTA RHO
in.npz out.npz`. Through policy, ledger and DuckDB, with exact noise.
"""

import resource
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time

import numpy as np

from bench.synth_data import written
from tacit.session import Session

__all__ = ["main"]


def main() -> None:
    method, _, _, rho, source, target = sys.argv[1:]
    stored = np.load(source)
    rows, sizes = stored["rows"], tuple(int(size) for size in stored["sizes"])
    names = tuple(f"c{place}" for place in range(len(sizes)))
    with TemporaryDirectory() as folder:
        policy = written(Path(folder), rows, sizes, names)
        start = process_time()
        with Session(policy, "bench") as session:
            bins, kind = dict(zip(names, sizes, strict=True)), {"method": method}
            plan = session.synthesise("people", rho=rho, columns=names, bins=bins, **kind)  # type: ignore[arg-type]
            table = plan.release().rows().table
        seconds = process_time() - start
    drawn = np.stack([table.column(name).to_numpy() for name in names], axis=1)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    np.savez(target, rows=drawn, seconds=seconds, peak=peak)


if __name__ == "__main__":
    main()
