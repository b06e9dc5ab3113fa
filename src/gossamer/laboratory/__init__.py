"""Experiments with the simulator: many runs on one graph, in parallel processes, and the measures of each run."""

from gossamer.laboratory.bench import Bench, Subject
from gossamer.laboratory.measured import Job, Measured

__all__ = ["Bench", "Job", "Measured", "Subject"]
