"""The guard of name lookups: when name servers fail, no site is suspended for it (thesis A.2.1).

A site whose name has no address is suspended for a day. So a failure is passed on only when there is reason to believe
it; until then it is *held*, and nothing is known about its site. It is believed when up to three names that were found
before are found again (*controls*). They are looked up as soon as a failure is held, not when nothing else is open: an
outage may be over by then. They are looked up at most once per second, so an outage that lasts longer is noticed if a
failure in it is answered.

The name servers are *suspected* when over 90 % of the last 1,000 lookups failed, of 50 names or more, or all lookups of
the last 50 names. Then the controls decide. If each is found, the names are to blame and their failures are believed
(an old list of sites has many that are gone). If one is not found, or nothing was ever found, the servers are at fault:
there is a warning, lookups pause, and a few names are probed now and then, after 10 s, then after twice as long each
time up to 5 min. As soon as one is found, all names whose failures are held are looked up again. Meanwhile requests
continue to sites whose addresses are known. Only fewer than 50 names, when no name at all was ever found, are believed
without controls.

Invariants, each a test of the same name: every ask gets exactly one answer once the servers answer; no failure is
passed on while the servers are at fault; nothing is looked up but probes while the servers are at fault; no name that
exists is given up in an outage if another was found before.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable
from typing import Final

from gossamer.base.clock import Clock
from gossamer.base.units import human_time, plural, thousands
from gossamer.web.addresses import literal
from gossamer.web.seam import Answer, Names

LOOKUPS: Final = 1_000
"""Lookups that are remembered."""
SHARE: Final = 0.9
"""Share of failures above which the servers are suspected."""
LEAST_NAMES: Final = 50
CONTROLS: Final = 3
CONTROL_EVERY: Final = 1.0
"""Seconds, at least, between lookups of controls while the servers are not suspected."""
SOONEST: Final = 10.0
LATEST: Final = 300.0
"""Seconds between probes: at first, and at most."""
_PROBE: Final = -1
"""Stands for a site: the name is looked up as a control or probe."""


class Window:
    """The last lookups, and which of them failed."""

    def __init__(self) -> None:
        self._lookups: deque[tuple[str, str]] = deque()
        self._names: Counter[str] = Counter()
        self._run: set[str] = set()
        self.errors: Counter[str] = Counter()
        """What failed, and how often."""

    def add(self, host: str, error: str) -> None:
        """Adds a lookup; `error` is "" for a name that was found."""
        self._lookups.append((host, error))
        self._names[host] += 1
        if error:
            self.errors[error] += 1
            self._run.add(host)
        else:
            self._run.clear()
        if len(self._lookups) > LOOKUPS:
            self._drop(*self._lookups.popleft())

    def _drop(self, host: str, error: str) -> None:
        for counts, key in ((self._names, host), (self.errors, error)):
            if key:
                counts[key] -= 1
                if not counts[key]:
                    del counts[key]

    def __len__(self) -> int:
        return len(self._lookups)

    @property
    def failed(self) -> int:
        return self.errors.total()

    @property
    def suspicious(self) -> bool:
        """Whether the name servers are suspected."""
        mostly = self.failed > SHARE * len(self._lookups)
        return (mostly and len(self._names) >= LEAST_NAMES) or len(self._run) >= LEAST_NAMES


class Watched:
    """`Names` as the crawl sees them: the resolver behind the guard."""

    def __init__(self, names: Names, clock: Clock) -> None:
        self._names, self._clock = names, clock
        self._window = Window()
        self._held: list[Answer] = []
        self._waiting: list[tuple[int, str]] = []
        """Questions that came while the servers were suspected or at fault."""
        self._found: dict[str, None] = {}
        """Names that were found, the newest last."""
        self._controls: dict[str, bool | None] = {}
        """Names that are looked up as controls or probes, and whether they were found; None: no answer yet."""
        self._next_control = self._next_probe = 0.0
        self._pause = SOONEST
        self._since = 0.0
        self._probed = 0
        self._servers: dict[str, None] = {}
        self.fault = ""
        """What is wrong with the name servers, in words, while they are at fault; "": nothing."""
        self.warnings: list[str] = []
        """Warnings for the user; the caller that prints them clears the list."""

    @property
    def open(self) -> int:
        """Questions without an answer yet."""
        probes = sum(known is None for known in self._controls.values())
        return self._names.open - probes + len(self._held) + len(self._waiting)

    def ask(self, site: int, host: str, fresh: bool = False) -> None:
        if (self.fault or self._controls) and literal(host) is None:
            self._waiting.append((site, host))
        else:
            self._names.ask(site, host)

    def forget(self) -> None:
        self._names.forget()

    def answers(self) -> list[Answer]:
        """The answers that are believed by now."""
        ready: list[Answer] = []
        for answer in self._names.answers():
            if answer.site == _PROBE:
                self._controls[answer.host] = found(answer)
            elif self._take(answer):
                ready.append(answer)
            else:
                self._held.append(answer)
        if self._controls:
            if None not in self._controls.values():
                ready += self._judge()
        elif self.fault:
            if self._clock.monotonic() >= self._next_probe:
                self._probe()
        elif self._window.suspicious or self._held:
            ready += self._doubt()
        return ready

    def _take(self, answer: Answer) -> bool:
        """Notes an answer; returns whether it is passed on at once."""
        if not answer.server:
            return True
        self._window.add(answer.host, "" if found(answer) else answer.error)
        self._servers[answer.server] = None
        if found(answer):
            self._found.pop(answer.host, None)
            self._found[answer.host] = None
            if len(self._found) > LOOKUPS:
                del self._found[next(iter(self._found))]
        return found(answer)

    def _doubt(self) -> list[Answer]:
        """Looks up the controls, if there are any. Without controls, a few failures are believed in the end, and many
        are not."""
        hosts, now, suspicious = self._last_found(), self._clock.monotonic(), self._window.suspicious
        if hosts and (suspicious or now >= self._next_control):
            self._next_control = now + CONTROL_EVERY
            self._control(hosts)
        elif suspicious and not hosts:
            self._accuse(0, 0)
        elif not (hosts or self._names.open):
            return self._believe()
        return []

    def _last_found(self) -> list[str]:
        """The names for controls: the last that were found, and have not failed since."""
        failed = {answer.host for answer in self._held}
        names = [host for host in reversed(self._found) if host not in failed]
        return names[:CONTROLS]

    def _control(self, hosts: Iterable[str]) -> None:
        """Looks up names for our own purposes."""
        self._controls = dict.fromkeys(hosts)
        for host in self._controls:
            self._names.ask(_PROBE, host, fresh=True)

    def _judge(self) -> list[Answer]:
        """Decides by the controls, which all have an answer."""
        controls, self._controls = self._controls, {}
        missing = [host for host, ok in controls.items() if not ok]
        others = {host: None for host in self._found if host not in missing}
        self._found = {**{host: None for host in missing if host in self._found}, **others}
        if self.fault:
            if len(missing) < len(controls):
                self._found = others
                self._go_on()
            else:
                self._next_probe = self._clock.monotonic() + self._pause
                self._pause = min(LATEST, 2 * self._pause)
            return []
        if missing:
            self._accuse(len(missing), len(controls))
            return []
        return self._believe()

    def _believe(self) -> list[Answer]:
        """Passes on the failures that were held."""
        held, self._held = self._held, []
        if self._window.suspicious:
            self._window = Window()
        self._ask_waiting()
        return held

    def _accuse(self, missing: int, controls: int) -> None:
        """The servers are at fault: warns, and pauses lookups."""
        kinds = ", ".join(f"{thousands(n)} {error}" for error, n in self._window.errors.most_common(4))
        again = f", and {missing} of {plural(controls, 'name')} that were found before are not found now"
        self.fault = (
            f"the name servers ({', '.join(self._servers) or 'none'}) seem to be at fault:"
            f" {thousands(self._window.failed)} of the last {plural(len(self._window), 'lookup')} failed"
            f" ({kinds}){again if controls else ''}"
        )
        self.warnings.append(
            f"{self.fault}. Lookups pause until they answer, and no site is suspended for it. Check them"
            " (harvester.resolvers; if empty, /etc/resolv.conf) and the network"
        )
        self._since = self._clock.monotonic()
        self._next_probe, self._pause = self._since + SOONEST, 2 * SOONEST

    def _probe(self) -> None:
        """Probes names that were found before; without any, the names that are asked for, in turn, more each time."""
        hosts = self._last_found()
        if not hosts:
            asked = list(dict.fromkeys([*(answer.host for answer in self._held), *(host for _, host in self._waiting)]))
            start = self._probed % max(1, len(asked))
            hosts = (asked[start:] + asked[:start])[: min(LEAST_NAMES, CONTROLS * round(self._pause / SOONEST))]
            self._probed += len(hosts)
        if hosts:
            self._control(hosts)

    def _go_on(self) -> None:
        """The servers answer again: all names whose failures are held are looked up again."""
        names = len({answer.host for answer in self._held} | {host for _, host in self._waiting})
        lasted = human_time(self._clock.monotonic() - self._since)
        self.warnings.append(f"the name servers answer again, after {lasted}: {plural(names, 'name')} to look up")
        self.fault = ""
        self._window = Window()
        self._waiting = [(answer.site, answer.host) for answer in self._held] + self._waiting
        self._held = []
        self._names.forget()
        self._ask_waiting()

    def _ask_waiting(self) -> None:
        waiting, self._waiting = self._waiting, []
        for site, host in waiting:
            self._names.ask(site, host)


def found(answer: Answer) -> bool:
    """Whether the name exists, wherever it leads."""
    return answer.address is not None or answer.error == "forbidden"
