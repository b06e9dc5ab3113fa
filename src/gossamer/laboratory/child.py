"""A process that runs one job: `python -m gossamer.laboratory.child FOLDER NUMBER`, the job on standard input.

It reads the graph from FOLDER, writes its progress to NUMBER.progress, and its result to NUMBER.result.
"""

from __future__ import annotations

import pickle
import sys
from pathlib import Path

import numpy as np

from gossamer.base.errors import GossamerError
from gossamer.laboratory.graphs.webgraph import load
from gossamer.laboratory.jobs import performed
from gossamer.laboratory.measured import Job, Measured


def main(folder: Path, number: str, job: Job) -> Measured:
    progress = np.memmap(folder / f"{number}.progress", np.float64, "r+")

    def told(done: int, of: int) -> None:
        progress[0] = done / max(1, of)

    history = np.load(folder / "history.npy") if job.historical else None
    return performed(job, load(folder / "graph.npz"), np.load(folder / "worth.npy"), history, told)


if __name__ == "__main__":
    place, own = Path(sys.argv[1]), sys.argv[2]
    result: Measured | GossamerError
    try:
        result = main(place, own, pickle.loads(sys.stdin.buffer.read()))
    except GossamerError as error:
        result = error
    (place / f"{own}.result").write_bytes(pickle.dumps(result))
