"""Settings: a typed tree, read from TOML with units, and checked. Error messages name the cure.

Imports nothing heavy, because `--help` and `status` need it.
"""

from gossamer.config.dump import differences, dump, reference, to_json
from gossamer.config.load import from_json, load, loads, named, override
from gossamer.config.settings import Settings

__all__ = ["Settings", "differences", "dump", "from_json", "load", "loads", "named", "override", "reference", "to_json"]
