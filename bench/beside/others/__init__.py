"""Programs for other crawlers, run by the Python of `.venv-bench`; they do not import Gossamer."""
