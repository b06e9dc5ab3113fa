"""The clock of a machine that is suspended, set and rebooted, which no simulation does."""

from __future__ import annotations

from gossamer.base.clock import VirtualClock


class Machine(VirtualClock):
    def sleep(self, seconds: float) -> None:
        """The machine is suspended for a while: its monotonic clock stands still."""
        before = self._monotonic
        self.advance(seconds)
        self._monotonic = before

    def set(self, seconds: float) -> None:
        """The system clock is set forward, or back."""
        self._wall += seconds

    def reboot(self, seconds: float) -> None:
        """The machine is off for a while. Monotonic times of two boots are never compared, so here the clock
        continues."""
        Machine.sleep(self, seconds)
        self._since_boot = 0.0
        self._boots += 1
        self._ahead, self._told = self.shown() - self.since_boot(), 0.0
