"""The answers of a living Web: of the version that a page has at the time, with the validators of its site.

Bodies are cached by version; fields that depend on the time of the request are added to each answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from email.utils import formatdate
from time import gmtime, strftime
from typing import Final

from gossamer.webs.demo import dice
from gossamer.webs.demo.answer import DemoAnswer, DemoAnswers, fixed_date, simple
from gossamer.webs.demo.layout import PAGES
from gossamer.webs.demo.life import Caching, Dates, Life, Standing, Validators
from gossamer.webs.demo.places import Places
from gossamer.webs.demo.render import UNCHANGING, Edition, without_session
from gossamer.webs.demo.site import Site
from gossamer.webs.demo.sitemaps import Entry, is_sitemap, sitemap_body

LISTED: Final = 1_000
"""Pages of a site that its sitemap lists at most."""
YEAR: Final = 31_536_000
_SENDING_TAG: Final = (Validators.TAG, Validators.BOTH, Validators.WEAK, Validators.TAG_EACH, Validators.ALWAYS_304)
_SENDING_DATE: Final = (Validators.DATE, Validators.BOTH, Validators.DATE_NOW, Validators.ALWAYS_304)


class LivingAnswers(DemoAnswers):
    """Answers of a Web that has a speed."""

    def __init__(self, web: Places) -> None:
        super().__init__(web)
        self.life = Life(web)
        self._tags = 0

    def answer(self, site: Site, target: str, fields: Mapping[str, str], wall: float) -> DemoAnswer:
        target = without_session(site, target) if site.features.session else target
        standing = self.life.standing(site, target, wall * self.web.speed)
        if standing is None:
            if is_sitemap(site, target):
                return self._sitemap(site, target, wall)
            return super().answer(site, target, fields, wall)
        if standing.status != 200:
            return simple(standing.status, *([f"Location: {standing.location}"] if standing.location else []))
        found = self._validated(site, standing, self._version(site, standing, fields), wall)
        lies = self.life.habits[site.number].validators is Validators.ALWAYS_304
        if lies and ("if-none-match" in fields or "if-modified-since" in fields):
            return found.not_modified()
        return found.under(fields)

    def _version(self, site: Site, standing: Standing, fields: Mapping[str, str]) -> DemoAnswer:
        gzip = "gzip" in fields.get("accept-encoding", "") and not (site.features.session or site.http.old)
        key = (site.number, f"{standing.number} {standing.born!r} {standing.changed!r}", gzip)
        found = self._kept.get(key)
        if found is None:
            found = self._page(site, standing.number, gzip, self._edition(site, standing))
            self._keep(key, found)
        return found

    def _edition(self, site: Site, standing: Standing) -> Edition:
        if not standing.changed:
            return UNCHANGING
        source, number, speed = self.web.source(site).number, standing.number, self.web.speed
        key = (self.web.seed, "edition", source, number, repr(standing.born), repr(standing.written))
        stamp = strftime("%Y-%m-%d %H:%M:%S", gmtime(standing.changed / speed))
        count = dice.number(*key, repr(standing.changed)) % 100_000
        news = () if standing.born else self.life.published(site, number, standing.written)
        return Edition(key, f"{stamp}, {count}.", tuple(news), bool(standing.born))

    def _validated(self, site: Site, standing: Standing, found: DemoAnswer, wall: float) -> DemoAnswer:
        own = self.life.habits[site.number].validators
        gzip = b"Content-Encoding: gzip" in found.fields
        etag = self._tag(site, standing, own, gzip, wall) if own in _SENDING_TAG else ""
        modified = formatdate(self._changed(site, standing, wall, own is Validators.DATE_NOW), usegmt=True)
        modified = modified if own in _SENDING_DATE else ""
        lines = [f"ETag: {etag}"] * bool(etag) + [f"Last-Modified: {modified}"] * bool(modified)
        lines += self._caching(site, standing, wall)
        added = "".join(f"{line}\r\n" for line in lines).encode()
        return replace(found, fields=found.fields + added, modified=modified, etag=etag)

    def _tag(self, site: Site, standing: Standing, own: Validators, gzip: bool, wall: float) -> str:
        """A strong tag differs between codings (RFC 9110, 8.8.3.3). One for each request differs between servers too:
        the number of the request alone would come again after a restart."""
        if own is Validators.TAG_EACH:
            self._tags += 1
            return f'"{dice.number(self.web.seed, "tag", self._tags, repr(wall)):016x}"'
        weak = own is Validators.WEAK
        time = standing.written if weak else standing.changed
        key = (self.web.source(site).number, standing.number, repr(standing.born), repr(time))
        bits = dice.number(self.web.seed, "tag", *key)
        return f'{"W/" if weak else ""}"{bits:016x}{"-gzip" if gzip and not weak else ""}"'

    def _changed(self, site: Site, standing: Standing, wall: float, now: bool) -> float:
        """Wall time of the last change, in whole seconds."""
        if now:
            return wall // 1
        if not standing.changed:
            return fixed_date(self.web, self.web.source(site), standing.number)
        return standing.changed / self.web.speed // 1

    def _caching(self, site: Site, standing: Standing, wall: float) -> Iterator[str]:
        seconds = int(self.life.interval(site, standing) / self.web.speed / 2) or YEAR
        match self.life.habits[site.number].caching:
            case Caching.MAX_AGE:
                yield f"Cache-Control: max-age={seconds}"
            case Caching.EXPIRES:
                yield f"Expires: {formatdate(wall + seconds, usegmt=True)}"
            case Caching.TOO_LONG:
                yield f"Cache-Control: max-age={YEAR}"
            case Caching.NO_CACHE:
                yield "Cache-Control: no-cache"

    def _sitemap(self, site: Site, target: str, wall: float) -> DemoAnswer:
        found = sitemap_body(site, self.web.layout(site.number), target, list(self._entries(site, wall)))
        assert found is not None
        return simple(200, body=found[0], mime=found[1])

    def _entries(self, site: Site, wall: float) -> Iterator[Entry]:
        """The pages that are there, and the news, at their present addresses."""
        layout, at = self.web.layout(site.number), wall * self.web.speed
        numbers = [n for n in range(min(site.pages, LISTED)) if layout.kind[n] in PAGES]
        news = (url for n in (0, *layout.hubs) for url in self.life.published(site, n, at))
        for target in (*(layout.target[n] for n in numbers), *news):
            standing = self.life.standing(site, target, at)
            if standing and standing.location:
                target, standing = standing.location, self.life.standing(site, standing.location, at)
            if standing and standing.status == 200:
                yield Entry(target, self._date(site, standing, wall))

    def _date(self, site: Site, standing: Standing, wall: float) -> str:
        dates = self.life.habits[site.number].dates
        if dates is Dates.NEVER:
            return ""
        changed = self._changed(site, standing, wall, dates is Dates.NOW)
        return strftime("%Y-%m-%dT%H:%M:%SZ", gmtime(changed))
