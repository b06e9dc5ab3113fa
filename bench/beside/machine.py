"""The machine on which the figures were measured."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from pathlib import Path


def machine() -> dict[str, str]:
    """CPU, memory, system and load, in words."""
    cpu = Path("/proc/cpuinfo").read_text().partition("model name")[2].partition("\n")[0].lstrip("\t :")
    memory = int(Path("/proc/meminfo").read_text().split()[1]) / 1024**2
    return {
        "processor": f"{os.cpu_count()} cores, {cpu or platform.machine()}",
        "memory": f"{memory:.0f} GB",
        "system": f"{platform.system()} {platform.release().split('-')[0]}, Python {platform.python_version()}",
        "load": f"{os.getloadavg()[0]:.1f}",
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
    }
