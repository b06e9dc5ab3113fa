"""Programs for other crawlers, run by the Python of `.venv-bench`; they know nothing of Gossamer."""
