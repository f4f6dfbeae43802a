"""MST and AIM of dpmm, for a Python that has it: `synth_dpmm.py METHOD EPSILON DELTA RHO in.npz out.npz`.

The cells are given as its domain, and nothing is binned.
"""

import resource
import sys
from time import process_time

import numpy as np

__all__ = ["main"]


def main() -> None:
    method, epsilon, delta, _, source, target = sys.argv[1:]
    stored = np.load(source)
    rows, sizes = stored["rows"], stored["sizes"].tolist()
    import pandas as pd
    from dpmm.models.aim import AIMGM
    from dpmm.models.mst import MSTGM

    frame = pd.DataFrame({f"c{i}": rows[:, i] for i in range(len(sizes))})
    start = process_time()
    kind = MSTGM if method == "mst" else AIMGM
    model = kind(epsilon=float(epsilon), delta=float(delta), domain={f"c{i}": size for i, size in enumerate(sizes)},
                 n_jobs=1)  # fmt: skip
    model.set_random_state(np.random.RandomState())
    model.set_domain({f"c{i}": size for i, size in enumerate(sizes)})
    model.fit(frame)
    found = model.generate(n_records=len(frame))
    drawn = np.stack([found[f"c{i}"].to_numpy() for i in range(len(sizes))], axis=1).astype(np.int64)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    np.savez(target, rows=drawn, seconds=process_time() - start, peak=peak)


if __name__ == "__main__":
    main()
