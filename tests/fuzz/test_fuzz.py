"""Fuzzing: a short hunt for each target, the inputs that once broke something, and a check that hunts find failures."""

from __future__ import annotations

import os
import resource
import signal
import time
from pathlib import Path
from typing import Final

import pytest

import fuzz
from fuzz.hunt import Hunt, peak, tried
from fuzz.target import Target
from fuzz.targets import TARGETS
from fuzz.watch import Watch

ONCE: Final = Path(fuzz.__file__).parent / "once"
INPUTS: Final = 300
SECONDS: Final = 1.5
LINES: Final = 100
"""That a hunt reaches, or it tries next to nothing."""


@pytest.mark.parametrize("name", TARGETS)
def test_a_short_hunt_finds_nothing(name: str) -> None:
    """Tries the same inputs each time, as many as there is time for, but enough on a slow machine too.

    `make fuzz` runs for ten minutes.
    """
    target = TARGETS[name]()
    hunt = Hunt(target, 6)
    end = time.monotonic() + SECONDS
    while hunt.tried < INPUTS and (hunt.reached <= LINES or time.monotonic() < end):
        hunt.once()
    target.close()
    assert hunt.reached > LINES
    assert not hunt.findings, [found.told for found in hunt.findings.values()]


@pytest.mark.parametrize("path", sorted(ONCE.glob("*/*")), ids=lambda path: f"{path.parent.name}: {path.name}")
def test_inputs_that_once_broke_something_do_so_no_more(path: Path) -> None:
    target = TARGETS[path.parent.name]()
    found = tried(target, path.read_bytes(), peak() + (target.megabytes << 20))
    target.close()
    assert found is None, found and found.told


def _below_the_peak() -> int:
    """Bytes that this process may allocate without a new peak: other tests may have needed more."""
    return max(0, peak() - int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize())


class Planted(Target):
    """Breaks in every way, depending on its input."""

    name = "planted"
    parts = ("units.py",)
    words = (b"raise", b"spin", b"grow")
    longest = 64
    seconds = 0.05
    megabytes = 16

    def seeds(self) -> list[bytes]:
        return [b"a harmless seed"]

    def check(self, data: bytes) -> None:
        until = time.process_time() + (0.2 if b"spin" in data else 60.0 if b"hang" in data else 0.0)
        while time.process_time() < until:
            pass
        if b"raise" in data:
            raise ValueError(data.decode(errors="replace"))
        if b"die" in data:
            os.kill(os.getpid(), signal.SIGKILL)
        if b"grow" in data:
            bytearray(_below_the_peak() + (64 << 20))


class Deadly(Planted):
    seconds = 0.02


def test_a_hunt_finds_exceptions_slow_inputs_and_memory_growth() -> None:
    hunt = Hunt(Planted(), 1)
    for _ in range(2_000):
        hunt.once()
        if len(hunt.findings) == 3:
            break
    shortest = {key.partition("-")[0]: found.data for key, found in hunt.findings.items()}
    assert set(shortest) == {"ValueError", "TooSlowError", "TooMuchMemoryError"}
    assert shortest["ValueError"] == b"raise"


@pytest.mark.parametrize(("word", "called"), [(b"die", "died"), (b"hang", "hang")])
def test_a_crash_and_a_hang_are_findings(
    word: bytes, called: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(TARGETS, "planted", Deadly)
    monkeypatch.setattr(Deadly, "words", (word,))
    said = list[str]()
    watch = Watch("planted", tmp_path, said.append)
    for seed in range(1, 100):  # the first one finds it, if its process gets to run within a second
        watch.run(1.0, seed)
        if watch.found:
            break
    kept = [path.read_bytes() for path in (tmp_path / "planted").glob(f"{called}-*[!t]")]
    assert kept
    assert all(word in data for data in kept)
    assert watch.found == len(kept)
    assert any("again with: python -m fuzz planted" in line for line in said)
