"""Experiments with the simulator: many runs on one graph, side by side in processes, and what is kept of each."""

from gossamer.laboratory.bench import Bench, Subject
from gossamer.laboratory.measured import Job, Measured

__all__ = ["Bench", "Job", "Measured", "Subject"]
