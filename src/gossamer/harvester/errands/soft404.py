"""Soft 404: detects sites that answer requests for missing pages as if the pages existed (A.3.4).

A site is suspected when its pages resemble each other: a page is a duplicate of another page of its site, or its sketch
is near one of the last four sketches there, or it is redirected to the target of most other redirects. After `ALIKE`
such pages in a folder, or in a whole site, that folder, or the root, is *probed* once: the harvester requests a sibling
with a name that no real page can have, in the site's own turn, under all clocks and by robots.txt
(`harvester/harvest.py`). Sites that are not suspected are not probed, and no site is probed more than `MOST` times.
Each honest answer makes it `HONEST` times as hard to be suspected again.

From then on a page of the site is a soft 404 if it repeats the probe's answer, or is redirected to the same target as
the probe. So is a page that is redirected to the target of `MANY` other pages of its origin, even without a probe. To
lose a page is worse than to keep an error: in doubt it is a page.

- A page repeats an answer if text, links and title are the same. Or, for templates, if the sketch differs in at most
  `NEAR` bits, the length of the text by at most a tenth, and the title is the same and identifies a page: the site uses
  several titles, and no two different pages share this title. Pages with noindex have no title here.
- The first page that repeats an answer is kept, and stays a page: many sites show a page of their own for every missing
  page.
- Never a soft 404: seeds, start pages, the pages that these are redirected to, and the page that most pages of the
  origin are redirected to.
- Links in the text of a soft 404 are not followed, and it is never the original of a duplicate. A redirect is still
  followed.
- A redirect whose target contains the requested name does not count: good pages are redirected like that, too.

A probe that failed temporarily does not count: it is repeated when the site is suspected again, `TRIES` times in all.
Pages that were fetched before the probe keep their outcome until they are fetched again.

The answers to probes are in the journal, as their visits, and at the desk (`harvester/errands/probes.py`). Suspicions
are forgotten at a stop.

Invariants, each a test of the same name: a folder is probed once and no more probes of a site than `MOST`; a probe is
asked for by robots.txt and under all clocks; a site that answers honestly has no soft 404.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

from gossamer import urls
from gossamer.base.arrays import Array
from gossamer.base.model import Ask, Change, Outcome, PageFlag
from gossamer.collection.journal.effects import Effects
from gossamer.desk.places import Places
from gossamer.desk.rules import Rules
from gossamer.harvester.errands.errand import Context, Errand, Errands, Request
from gossamer.harvester.errands.probes import MOST, NAME, SAME, UNANSWERED, Answer, Kind, ProbeAnswers, named, said
from gossamer.harvester.errands.similar import Alike, Said, look_at, said_in
from gossamer.web.message import Results

ALIKE: Final = 2
"""A folder is probed after this many pages that resemble an earlier page."""
HONEST: Final = 4
"""After each probe that found nothing, this many times as many such pages are needed."""
MANY: Final = 16
"""After this many pages of an origin are redirected to one URL, further such pages are soft 404s."""
TRIES: Final = 3
"""Maximum number of probes of a site that fail temporarily."""
_MOST_SUSPECTED: Final = 1 << 16
_NEVER: Final = -(1 << 60)
_NOTHING: Final = np.uint64(0)

_SAYS_TEXT: Final = b"the same answer as for a page that cannot exist"
_SAYS_REDIRECT: Final = b"redirected to where a page that cannot exist is"
_SAYS_MANY: Final = b"many pages are redirected to that address"

# plain numbers: numpy takes 10 µs to read a member of an enum
_PAGE, _PROBE, _SEED = int(Ask.PAGE), int(Ask.PROBE), int(PageFlag.SEED)
_OK, _REDIRECT, _SOFT, _RETURNED = (int(o) for o in (Outcome.OK, Outcome.REDIRECT, Outcome.SOFT_404, Outcome.RETURNED))
_HOPS: Final = int(PageFlag.HOPS)


class Probe(NamedTuple):
    """A request for a page that cannot exist."""

    site: int
    origin: int
    url: str
    """In canonical form."""


class ProbeErrand(Errand):
    """Marks soft 404s, suspects sites, and probes the suspected sites."""

    name = "probes"

    def __init__(self, context: Context, others: Errands) -> None:
        self._desk, self._in_flight, self._texts = context.desk, context.in_flight, context.texts
        self._on, self._rules = context.desk.settings.harvester.soft_404, context.desk[Rules]
        self._columns, self._probes = context.desk.columns, context.desk[ProbeAnswers].probes
        self._memory = Alike(context.desk.columns.site.limit)
        self._alike: dict[int, int] = {}
        """By folder: how many of its pages resembled an earlier page."""
        self._waiting: dict[int, Probe] = {}
        """By site: one probe at a time."""
        self._failed: dict[int, int] = {}
        """By site: how many probes failed temporarily."""
        self._led: list[int] = []
        """Visits of the current tick whose pages are redirected to a missing page."""

    # --- judging ------------------------------------------------------------------------------------------------

    def read(self, results: Results) -> Results:
        """Marks soft 404s among the pages of a tick, each with the reason as its detail. Runs before duplicates are
        marked."""
        visits, columns = results.visits, self._columns
        outcome, looked_at = visits["outcome"], np.empty(len(visits), np.bool_)
        if not (self._on and look_at(visits, self._probes.telling, columns.origin.moved, SAME * MANY, looked_at)):
            return results
        values, words, kept = said(visits), dict[int, bytes](), dict[tuple[int, int], Answer]()
        for i in np.flatnonzero(looked_at).tolist():
            page = int(visits["page"][i])
            why = self._text(results, i, int(values[i]), kept) if outcome[i] == _OK else self._target(results, i)
            if why and not columns.page.flags[page] & _SEED and not self._is_start(self._url_at(visits, i)):
                words[i] = why
        self._led = [i for i in words if outcome[i] == _REDIRECT]
        outcome[[i for i in words if outcome[i] == _OK]] = _SOFT
        return results.with_details(words) if words else results

    def add_effects(self, results: Results, effects: Effects) -> None:
        """Marks redirects that are soft 404s. Runs after links became pages: these redirects are followed as links."""
        if self._led:
            results.visits["outcome"][self._led] = _SOFT
            self._led = []

    def _text(self, results: Results, i: int, value: int, kept: dict[tuple[int, int], Answer]) -> bytes:
        """Why the text of a page is a soft 404, or nothing. `kept`: answers by site and folder, with the pages of this
        tick that are the first to repeat them."""
        visit = results.visits[i]
        site, page = int(visit["site"]), int(visit["page"])
        title = named(results.text(i, "title"), self._desk.seed)
        answers = (kept.get((site, answer.folder), answer) for answer in self._probes.of(site))
        found = [answer for answer in answers if answer.repeated_by(visit, value, title)]
        if not any(answer.equals(visit, value) or self._memory.tells(site, answer.title) for answer in found):
            return b""
        kept |= {(site, answer.folder): answer.keeping(visit, value) for answer in found}
        copies = [kept[site, answer.folder].kept for answer in found]
        return b"" if page in copies or self._is_led_to(site, page, self._url_at(results.visits, i)) else _SAYS_TEXT

    def _is_led_to(self, site: int, page: int, url: str) -> bool:
        """Whether a seed, a page that other sites link to, or most pages of an origin of the site are redirected to
        it."""
        columns = self._desk.columns
        if columns.page.depth[page] == 0 and columns.page.flags[page] & _HOPS:
            return True
        of_site = columns.origin.site[: columns.origin.count] == site
        targets = columns.origin.moved_to[: columns.origin.count][of_site].tolist()
        return urls.fingerprint(url, self._desk.seed) in targets

    def _target(self, results: Results, i: int) -> bytes:
        """Why a redirect is a soft 404, or nothing."""
        desk, visit, named = self._desk, results.visits[i], results.text(i, "redirect")
        moved, moved_to = (getattr(desk.columns.origin, name)[visit["origin"]] for name in ("moved", "moved_to"))
        if moved >= SAME * MANY and int(moved_to) == urls.fingerprint(named, desk.seed):
            return _SAYS_MANY
        target = desk.scope.canonical(named.decode()) or ""
        known = {answer.value for answer in self._probes.of(int(visit["site"])) if answer.kind is Kind.REDIRECT}
        return _SAYS_REDIRECT if urls.fingerprint(target, desk.seed) in known else b""

    def _url_at(self, visits: Array, i: int) -> str:
        """The canonical URL of the page of visit `i`: from the flight, since reading it from disk takes 20 µs."""
        flight = self._in_flight.get(int(visits["number"][i]))
        if flight is not None:
            return flight.canonical.decode()
        return self._texts(np.array([visits["page"][i]], np.uint32))[0].decode()

    @staticmethod
    def _is_start(url: str) -> bool:
        return url.index("/", 8) == len(url) - 1

    # --- suspecting ---------------------------------------------------------------------------------------------

    def settle(self, results: Results) -> set[int]:
        """Takes the answers to probes. Returns sites that are to be probed now."""
        visits = results.visits
        if not len(visits):
            return set()
        said = said_in(visits)
        if said.probes:
            self._take_answers(visits)
        return self._suspected(results, said) if self._on else set()

    def _take_answers(self, visits: Array) -> None:
        for i in np.flatnonzero(visits["ask"] == _PROBE).tolist():
            flight = self._in_flight.get(int(visits["number"][i]))
            if flight is None or not isinstance(flight.errand, Probe):
                continue
            probe = flight.errand
            if visits["outcome"][i] == _RETURNED:
                self._waiting[probe.site] = probe
            elif Outcome(int(visits["outcome"][i])) in UNANSWERED:
                self._failed[probe.site] = self._failed.get(probe.site, 0) + 1

    def _suspected(self, results: Results, said: Said) -> set[int]:
        visits, alike = results.visits, self._resembling(results, said)
        found = set[int]()
        if True in alike:
            answered = set(visits["number"].tolist())
            asked = {flight.site for flight in self._in_flight.asked(Ask.PROBE, answered)}
            for i in np.flatnonzero(alike).tolist():
                site = int(visits["site"][i])
                may_be = site not in self._waiting and site not in asked
                if may_be and self._suspect(self._url_at(visits, i), visits[i]):
                    found.add(site)
        return found

    def _resembling(self, results: Results, said: Said) -> list[bool]:
        """Which visits resemble others of their site: by contents, or by the target of a redirect."""
        visits, columns = results.visits, self._columns
        titles = np.zeros(len(visits), np.uint64)
        for i, start, end in said.titles:
            titles[i] = urls.fingerprint(results.texts[start:end], self._desk.seed)
        values = np.where(visits["change"] == Change.UNKNOWN, said.values, _NOTHING)  # a page may resemble itself
        alike: list[bool] = self._memory.add(columns, visits, values, titles).tolist()
        if said.redirects:
            suspected = columns.origin.moved[visits["origin"]] >= SAME * ALIKE
            for i in np.flatnonzero((visits["ask"] == _PAGE) & (visits["outcome"] == _REDIRECT) & suspected).tolist():
                target = urls.fingerprint(results.text(i, "redirect"), self._desk.seed)
                alike[i] = bool(columns.origin.moved_to[visits["origin"][i]] == target)
        return alike

    def _suspect(self, url: str, visit: Any) -> bool:
        """Counts a page that resembles others. Returns whether its folder, or the root of its origin, is to be
        probed."""
        site, desk = int(visit["site"]), self._desk
        answers, failed = list(self._probes.of(site)), self._failed.get(site, 0)
        if failed >= TRIES or len(answers) + failed >= MOST:
            return False
        known = {answer.folder for answer in answers}
        needed = ALIKE * HONEST ** sum(answer.kind is Kind.NOTHING for answer in answers)
        if len(self._alike) > _MOST_SUSPECTED:
            self._alike.clear()
        for folder in dict.fromkeys((urls.folder(url), url[: url.index("/", 8) + 1])):
            number = urls.fingerprint(folder, desk.seed)
            self._alike[number] = self._alike.get(number, 0) + 1
            if self._alike[number] >= needed and number not in known:
                probe = self._made(site, int(visit["origin"]), folder, number, url)
                if probe is not None:
                    self._waiting[site] = probe
                    return True
                self._alike[number] = _NEVER
        return False

    def _made(self, site: int, origin: int, folder: str, number: int, like: str) -> Probe | None:
        """The probe of a folder; None: settings or robots.txt exclude it."""
        scope, ending = self._desk.scope, urls.extension(like)
        path = like.partition("?")[0]
        after = "/" if path.endswith("/") and folder != path else f".{ending}" if ending.isalnum() else ""
        url = scope.canonical(f"{folder}{NAME}{number:016x}{after}") or ""
        longest = self._desk.settings.seeder.url_length
        wanted = url.startswith(folder + NAME) and len(url) <= longest and not scope.shuns(url)
        return Probe(site, origin, url) if wanted and self._rules.allows(origin, url) else None

    # --- requests -------------------------------------------------------------------------------------------------

    def next(self, site: int, begins: float) -> Request | None:
        probe = self._waiting.pop(site, None)
        if probe is None or self._columns.origin.valid[probe.origin] <= begins:
            return None
        if not self._rules.allows(probe.origin, probe.url):
            return None
        return Request(Ask.PROBE, probe.origin, self._desk[Places].asked_as(site, probe.url), probe)

    def give_up(self, site: int) -> None:
        """Drops the probe of the site. If the site is still suspected later, it is probed then."""
        self._waiting.pop(site, None)
