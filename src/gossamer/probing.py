"""Soft 404: sites that answer a page that does not exist as if it did (A.3.4).

A site is suspected when its pages resemble one another: one is a duplicate of another page of its site, or its sketch
is near one of the last four there, or it is redirected to where most others are. After `ALIKE` such pages of a folder,
or of a whole site, that folder, or its root, is *probed* once: a sibling is asked for whose name nobody can have given
to a page, in the site's own turn, under all clocks and by robots.txt (`dispatch.py`). Sites that are not suspected are
not probed, and none more than `MOST` times; each honest answer makes it `HONEST` times as hard to be suspected again.

From then on a page of the site is a soft 404 if it repeats the probe's answer, or is redirected to where the probe was.
So is a page that is redirected to where `MANY` others of its origin were, without any probe. To lose a page is worse
than to keep an error: when in doubt it is a page.

- It repeats an answer if text, links and title are the same. Or, for templates, if the sketch differs in at most `NEAR`
  bits, the length of the text by a tenth, and the title is the same and tells something: the site has pages of other
  titles, and none of this title that says something else. Pages that are not to be indexed have no title here.
- The first page that repeats an answer is kept, and stays so: many sites show a page of theirs for whatever they lack.
- Seeds and start pages never are, nor where they are redirected, nor where most pages of the origin are.
- Links of a text are not followed, and it is no original of duplicates; a redirect is followed still.
- A redirect whose target has what was asked for in it says nothing: good pages are sent on like that, too.

An answer that failed for a moment is none: the probe is repeated when the site is suspected again, `TRIES` times in
all. Pages that were fetched before the probe stay what they were until they are fetched again.

What probes gave is in the journal as their visits, and at the desk (`harvester/errands/probes.py`); what is only
suspected is forgotten at a stop.

Invariants, each a test of the same name: a folder is probed once (until it answers); no more probes of a site than
`MOST`; a probe is asked for by robots.txt and under all clocks; a site that answers honestly has no soft 404.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from gossamer import urls
from gossamer.base.model import VISIT_TEXTS, Ask, Outcome, PageFlag, VisitFlag
from gossamer.collection.store import Store
from gossamer.desk.desk import Desk
from gossamer.desk.rules import Rules
from gossamer.harvester.errands.probes import MOST, NAME, SAME, UNANSWERED, Answer, Kind, ProbeAnswers, named, said
from gossamer.harvester.errands.similar import Alike, Said, look_at, said_in
from gossamer.web.message import Results

Array = npt.NDArray[Any]

ALIKE: Final = 2
"""Pages that resemble an earlier one, before a folder is probed."""
HONEST: Final = 4
"""So many times as many are needed after each probe that found nothing."""
MANY: Final = 16
"""Pages of an origin that may be redirected to one address, before more of them are soft 404."""
TRIES: Final = 3
"""Probes of a site that may fail for a moment."""
_MOST_SUSPECTED: Final = 1 << 16
_NEVER: Final = -(1 << 60)

_SAYS_TEXT: Final = b"the same answer as for a page that cannot exist"
_SAYS_REDIRECT: Final = b"redirected to where a page that cannot exist is"
_SAYS_MANY: Final = b"many pages are redirected to that address"

# plain numbers: numpy takes 10 µs to look at a member of an enum
_PAGE, _PROBE, _SEED = int(Ask.PAGE), int(Ask.PROBE), int(PageFlag.SEED)
_OK, _DUPLICATE, _REDIRECT, _SOFT, _RETURNED = (
    int(o) for o in (Outcome.OK, Outcome.DUPLICATE, Outcome.REDIRECT, Outcome.SOFT_404, Outcome.RETURNED)
)
_RESPELLED: Final = int(VisitFlag.RESPELLED)
_HOPS: Final = int(PageFlag.HOPS)
_TITLE: Final = VISIT_TEXTS.index("title")


@dataclass(frozen=True, slots=True)
class Probe:
    """One that is to be asked for, or is on its way."""

    site: int
    origin: int
    url: str
    """In canonical form."""


class Prober:
    def __init__(self, desk: Desk, store: Store) -> None:
        self._desk, self._store = desk, store
        self._on = desk.settings.harvester.soft_404
        self._memory = Alike(desk.columns.site.limit)
        self._urls: dict[int, bytes] = {}
        """Of pages in flight: to read one from disk takes 20 µs."""
        self._alike: dict[int, int] = {}
        """Folders, and how many of their pages resembled an earlier one."""
        self.waiting: dict[int, Probe] = {}
        """By site: one at a time."""
        self._asked: dict[int, Probe] = {}
        """In flight, by assignment."""
        self._failed: dict[int, int] = {}
        """Sites, and how many probes of them failed for a moment."""
        self._led: list[int] = []
        """Of the tick that is judged: pages that are redirected to where there is nothing."""

    # --- judging ------------------------------------------------------------------------------------------------

    def mark(self, results: Results) -> Results:
        """Before duplicates are marked: soft 404s among the pages of a tick, each with a word on why."""
        visits, columns = results.visits, self._desk.columns
        outcome, looked_at = visits["outcome"], np.empty(len(visits), np.bool_)
        if not (self._on and self._may_be_soft(visits, looked_at)):
            return results
        values, words, kept = said(visits), dict[int, bytes](), dict[tuple[int, int], Answer]()
        for i in np.flatnonzero(looked_at).tolist():
            page = int(visits["page"][i])
            why = self._text(results, i, int(values[i]), kept) if outcome[i] == _OK else self._target(results, i)
            if why and not columns.page.flags[page] & _SEED and not self._is_start(page):
                words[i] = why
        self._led = [i for i in words if outcome[i] == _REDIRECT]
        outcome[[i for i in words if outcome[i] == _OK]] = _SOFT
        return results.with_details(words) if words else results

    def _may_be_soft(self, visits: Array, found: Array) -> int:
        return look_at(
            visits, self._desk[ProbeAnswers].probes.telling, self._desk.columns.origin.moved, SAME * MANY, found
        )

    def mark_redirects(self, results: Results) -> None:
        """After links were looked at: these soft 404 are followed as links."""
        if self._led:
            results.visits["outcome"][self._led] = _SOFT
            self._led = []

    def _text(self, results: Results, i: int, value: int, kept: dict[tuple[int, int], Answer]) -> bytes:
        """`kept`: answers by site and folder, with the pages of this tick that are the first to repeat them."""
        visit = results.visits[i]
        site, page = int(visit["site"]), int(visit["page"])
        title = named(results.text(i, "title"), self._desk.seed)
        answers = (kept.get((site, answer.folder), answer) for answer in self._desk[ProbeAnswers].probes.of(site))
        found = [answer for answer in answers if answer.repeated_by(visit, value, title)]
        if not any(answer.equals(visit, value) or self._memory.tells(site, answer.title) for answer in found):
            return b""
        kept |= {(site, answer.folder): answer.keeping(visit, value) for answer in found}
        copies = [kept[site, answer.folder].kept for answer in found]
        return b"" if page in copies or self._is_led_to(site, page) else _SAYS_TEXT

    def _is_led_to(self, site: int, page: int) -> bool:
        """From a seed, or a page that other sites name, or from most pages of an origin of the site."""
        columns = self._desk.columns
        if columns.page.depth[page] == 0 and columns.page.flags[page] & _HOPS:
            return True
        of_site = columns.origin.site[: columns.origin.count] == site
        targets = columns.origin.moved_to[: columns.origin.count][of_site].tolist()
        return urls.fingerprint(self._url(page), self._desk.seed) in targets

    def _target(self, results: Results, i: int) -> bytes:
        desk, visit, named = self._desk, results.visits[i], results.text(i, "redirect")
        moved, moved_to = (getattr(desk.columns.origin, name)[visit["origin"]] for name in ("moved", "moved_to"))
        if moved >= SAME * MANY and int(moved_to) == urls.fingerprint(named, desk.seed):
            return _SAYS_MANY
        target = desk.scope.canonical(named.decode()) or ""
        known = {
            answer.value for answer in desk[ProbeAnswers].probes.of(int(visit["site"])) if answer.kind is Kind.REDIRECT
        }
        return _SAYS_REDIRECT if urls.fingerprint(target, desk.seed) in known else b""

    def remember(self, urls: dict[int, bytes]) -> None:
        """By page: these are asked for now."""
        if self._on:
            self._urls.update(urls)

    def _url(self, page: int) -> str:
        known = self._urls.get(page)
        return known.decode() if known is not None else self._store.texts(np.array([page], np.uint32))[0].decode()

    def _is_start(self, page: int) -> bool:
        url = self._url(page)
        return url.index("/", 8) == len(url) - 1

    # --- suspecting ---------------------------------------------------------------------------------------------

    def follow(self, results: Results) -> set[int]:
        """After a tick was applied: its probes are answered. Sites that are to be probed since."""
        visits, said = results.visits, said_in(results.visits)
        if said.probes:
            self._take_answers(visits)
        found = self._suspected(results, said) if self._on else set()
        for page in visits["page"].tolist():
            self._urls.pop(page, None)
        return found

    def _take_answers(self, visits: Array) -> None:
        for i in np.flatnonzero(visits["ask"] == _PROBE).tolist():
            probe = self._asked.pop(int(visits["number"][i]), None)
            if probe is not None and visits["outcome"][i] == _RETURNED:
                self.waiting[probe.site] = probe
            elif probe is not None and Outcome(int(visits["outcome"][i])) in UNANSWERED:
                self._failed[probe.site] = self._failed.get(probe.site, 0) + 1

    def _suspected(self, results: Results, said: Said) -> set[int]:
        visits, alike = results.visits, self._resembling(results, said)
        found = set[int]()
        if True in alike:
            asked = {probe.site for probe in self._asked.values()}
            for i in np.flatnonzero(alike).tolist():
                site = int(visits["site"][i])
                if site not in self.waiting and site not in asked and self._suspect(int(visits["page"][i]), visits[i]):
                    found.add(site)
        return found

    def _resembling(self, results: Results, said: Said) -> list[bool]:
        """Visits of pages that say what others of their site said, or are redirected to where most are."""
        visits, columns = results.visits, self._desk.columns
        titles = np.zeros(len(visits), np.uint64)
        for i, start, end in said.titles:
            titles[i] = urls.fingerprint(results.texts[start:end], self._desk.seed)
        alike: list[bool] = self._memory.add(columns, visits, said.values, titles).tolist()
        if said.redirects:
            suspected = columns.origin.moved[visits["origin"]] >= SAME * ALIKE
            for i in np.flatnonzero((visits["ask"] == _PAGE) & (visits["outcome"] == _REDIRECT) & suspected).tolist():
                target = urls.fingerprint(results.text(i, "redirect"), self._desk.seed)
                alike[i] = bool(columns.origin.moved_to[visits["origin"][i]] == target)
        return alike

    def _suspect(self, page: int, visit: Any) -> bool:
        """Whether its folder, or the root of its origin, is to be probed for it."""
        site, desk = int(visit["site"]), self._desk
        answers, failed = list(desk[ProbeAnswers].probes.of(site)), self._failed.get(site, 0)
        if failed >= TRIES or len(answers) + failed >= MOST:
            return False
        known = {answer.folder for answer in answers}
        needed = ALIKE * HONEST ** sum(answer.kind is Kind.NOTHING for answer in answers)
        if len(self._alike) > _MOST_SUSPECTED:
            self._alike.clear()
        url = self._url(page)
        for folder in dict.fromkeys((urls.folder(url), url[: url.index("/", 8) + 1])):
            number = urls.fingerprint(folder, desk.seed)
            self._alike[number] = self._alike.get(number, 0) + 1
            if self._alike[number] >= needed and number not in known:
                probe = self._made(site, int(visit["origin"]), folder, number, url)
                if probe is not None:
                    self.waiting[site] = probe
                    return True
                self._alike[number] = _NEVER
        return False

    def _made(self, site: int, origin: int, folder: str, number: int, like: str) -> Probe | None:
        """None: settings or robots.txt keep it out."""
        scope, ending = self._desk.scope, urls.extension(like)
        path = like.partition("?")[0]
        after = "/" if path.endswith("/") and folder != path else f".{ending}" if ending.isalnum() else ""
        url = scope.canonical(f"{folder}{NAME}{number:016x}{after}") or ""
        longest = self._desk.settings.seeder.url_length
        wanted = url.startswith(folder + NAME) and len(url) <= longest and not scope.shuns(url)
        probe = Probe(site, origin, url)
        return probe if wanted and self.allowed(probe) else None

    # --- asking -------------------------------------------------------------------------------------------------

    def allowed(self, probe: Probe) -> bool:
        """By the robots.txt at hand."""
        origins = np.array([probe.origin], np.uint32)
        return bool(self._desk[Rules].allowed_at(origins, [probe.url.encode()])[0])

    def take(self, site: int, number: int) -> Probe:
        """It is asked for, by this assignment."""
        self._asked[number] = self.waiting[site]
        return self.waiting.pop(site)

    def give_up(self, site: int) -> None:
        """The site cannot be asked now; if it is still suspected later, it will be."""
        self.waiting.pop(site, None)
