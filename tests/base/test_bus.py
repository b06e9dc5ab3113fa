"""A map that cannot be read ends the process with an error, not with a bare signal."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from gossamer.base.errors import StorageError
from tests.support.timing import WITHIN

CUT = """
import os, sys, threading
import numpy as np
from gossamer.base.bus import explain_bus_errors
explain_bus_errors()
mapped = np.memmap(sys.argv[1], np.uint8, "r")
os.truncate(sys.argv[1], 5000)
if sys.argv[2] == "thread":
    threading.Thread(target=mapped.sum).start()
else:
    mapped.sum()
"""


@pytest.mark.parametrize("where", ["main", "thread"])
def test_a_file_that_is_cut_under_a_map_is_an_error_that_names_it(tmp_path: Path, where: str) -> None:
    path = tmp_path / "image with a space"
    path.write_bytes(bytes(1_000_000))
    done = subprocess.run([sys.executable, "-c", CUT, path, where], capture_output=True, text=True, timeout=WITHIN)
    assert done.returncode == StorageError.exit_code
    assert done.stderr.splitlines() == [
        f"gossamer: cannot read {path}: the disk failed, or the file was cut while it was in use; check the system log "
        "(`dmesg`), then: gossamer verify DIR"
    ]
