"""The web seam: assignments out, results back. Behind it the worker pool, or the simulator."""
