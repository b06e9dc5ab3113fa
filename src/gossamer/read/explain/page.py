"""All that is known about a URL, as one dictionary: what `gossamer explain DIR URL --json` prints."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from gossamer import urls
from gossamer.base.model import NONE, LinkKind
from gossamer.base.outcomes import TREATMENTS, Again, Outcome
from gossamer.collection.runs import stored_settings
from gossamer.config import Settings
from gossamer.manager.history import read_history
from gossamer.observe.status import page_standing, scores_of, unknown_standing
from gossamer.read.explain.address import address_of, scope_verdict
from gossamer.read.explain.collection import Opened, opened, steadily
from gossamer.read.explain.files import Found, Step
from gossamer.read.explain.visits import probes_of, sitemaps_of, visits_of

Said = dict[str, Any]

LETTERS: Final = {
    LinkKind.SEED: "S",
    LinkKind.ANCHOR: "L",
    LinkKind.FRAME: "F",
    LinkKind.EMBEDDED: "E",
    LinkKind.CANONICAL: "C",
    LinkKind.ALTERNATE: "A",
    LinkKind.REDIRECT: "R",
    LinkKind.SITEMAP: "M",
}
LEGEND: Final = "S seed, L link, F frame, E embedded, C canonical, A alternate, R redirect, M sitemap"
LONGEST_WAY: Final = 1_000
MOST_SAME: Final = 20
"""Duplicates that are named."""


def explain_page(folder: Path, given: str) -> Said:
    return steadily(lambda: _explain(folder, given))


def _explain(folder: Path, given: str) -> Said:
    settings = stored_settings(folder)
    scope = urls.Scope.of(settings.seeder)
    address = address_of(given, settings.seeder, scope)
    said: Said = {"given": given, "url": address.canonical, "steps": [asdict(step) for step in address.steps]}
    if address.canonical is None:
        return said | {"known": False, "why_not": ["It is no http or https URL, so it cannot be a page."]}
    url = address.canonical
    said["scope"] = scope_verdict(url, settings.seeder, scope)
    collection = opened(folder, settings, {"page": url})
    said["as_of"] = collection.as_of
    page, near = _find(collection, url)
    if page is None:
        would = {"sitemap": _as_sitemap(collection, url, scope), **_would(collection, url)}
        return said | {"known": False, "why_not": _why_not(collection, said["scope"], url), "near": near, **would}
    return said | {"known": True, "page": page, **_known(collection, page, url)}


def _as_sitemap(collection: Opened, url: str, scope: urls.Scope) -> Said | None:
    """The last request for it as a sitemap. It is no page then."""
    image, files, host = collection.image, collection.files, urls.host(url)
    site = NONE if image is None else image.site_number(host)
    site = site if site != NONE else files.site_number(host)
    asked = sitemaps_of(files, site) if site != NONE else {}
    last = [said for named, said in asked.items() if scope.canonical(named) == url]
    return last[-1] | {"sentence": Outcome[last[-1]["outcome"].upper()].sentence} if last else None


def _would(collection: Opened, url: str) -> Said:
    """If its site is known: what robots.txt would say to it, and when the site may be asked."""
    live, image = collection.live, collection.image
    if live is not None:
        return {"would": live.get("would")}
    site = NONE if image is None else image.site_number(urls.host(url))
    if image is None or site == NONE:
        return {"would": None}
    return {"would": unknown_standing(image, collection.settings, collection.wall, site, url)}


def _find(collection: Opened, url: str) -> tuple[int | None, list[str]]:
    """Its number; if it is not known, other spellings of it that are."""
    files, live = collection.files, collection.live
    if live is not None and live["page"] is not None:
        return int(live["page"]), []
    others = _spellings(url)
    seed = files.meta.seed
    page, *rest = files.find([urls.fingerprint(text, seed) for text in (url, *others)])
    near = [other for other, number in zip(others, rest, strict=True) if number != NONE]
    return (None if page == NONE else page), near


def _spellings(url: str) -> list[str]:
    scheme, _, rest = url.partition("://")
    other = f"{'http' if scheme == 'https' else 'https'}://{rest}"
    slash = [u[:-1] if u.endswith("/") else f"{u}/" for u in (url, other) if rest.count("/") > 1 or not u.endswith("/")]
    return [other, *slash]


def _why_not(collection: Opened, scope: Said, url: str) -> list[str]:
    """Everything that keeps it out; if nothing does, nobody has named it."""
    why = [] if scope["accepted"] else [scope["words"]]
    settings, live, image = collection.settings, collection.live or {}, collection.image
    site_pages = live.get("site_pages")
    if image is not None and site_pages is None:
        site = image.site_number(urls.host(url))
        site_pages = None if site == NONE else int(image.columns.site.pages[site])
    limit, most = settings.seeder.pages_per_site, settings.collection.max_pages
    if site_pages is not None and site_pages >= limit:
        why.append(f"Its site has {site_pages} known pages, as many as seeder.pages_per_site = {limit} allows.")
    if collection.files.known >= most:
        why.append(f"The collection has as many pages as collection.max_pages = {most} allows.")
    if site_pages is None and live.get("sites", 0) >= settings.collection.max_sites:
        why.append(f"The collection has as many sites as collection.max_sites = {settings.collection.max_sites}.")
    return why or ["No page that was fetched so far links to it in a way that is followed, and no sitemap lists it."]


def _known(collection: Opened, page: int, url: str) -> Said:
    files = collection.files
    way = files.way(page, LONGEST_WAY)
    visits, same = visits_of(files, page)
    originals = [v["duplicate_of"] for v in visits if v["duplicate_of"] is not None]
    named = [*(step.page for step in way), *originals[-1:], *same[:MOST_SAME]]
    texts = files.urls(named)
    for visit in visits:
        visit["sentence"] = Outcome[visit["outcome"].upper()].sentence
    found = files.page(page)
    return {
        "found": _found(found, way, texts),
        **_now(collection, page, url, found, visits),
        "visits": visits,
        "duplicate_of": texts[originals[-1]] if originals else None,
        "probes": _probes(collection, url, visits),
        "duplicates": {"pages": len(same), "urls": [texts[p] for p in same[:MOST_SAME]]},
    }


def _probes(collection: Opened, url: str, visits: list[Said]) -> dict[str, Said]:
    """What its site answered for pages that cannot exist, by their URLs, if it was taken for one of those."""
    if not visits or visits[-1]["outcome"] != Outcome.SOFT_404.word:
        return {}
    return probes_of(collection.files, collection.files.site_number(urls.host(url)))


def _found(found: Found, way: list[Step], texts: dict[int, str]) -> Said:
    return {
        "time": found.time,
        "kind": way[0].kind.name.lower(),
        "on": texts.get(way[0].source),
        "depth": found.depth,
        "way": "".join(LETTERS[step.kind] for step in reversed(way)),
        "urls": [texts[step.page] for step in reversed(way)],
    }


def _now(collection: Opened, page: int, url: str, found: Found, visits: list[Said]) -> Said:
    live, image, wall = collection.live, collection.image, collection.wall
    if live is not None:
        told = {name: live.get(name) for name in ("standing", "scores", "plan", "next_turn")}
        return told | {"plans": [_of_plan(plan, visits) for plan in live.get("plans", ())]}
    if image is None or page >= image.columns.page.count:
        return {"standing": _by_files(found, visits, collection.settings), "scores": None}
    settings = collection.settings
    return {
        "plans": _past_plans(collection, page, visits),
        "standing": page_standing(image, settings, wall, page, url),
        "scores": scores_of(image.columns, settings, image.issued, wall, page) if image.ranked else None,
    }


def _past_plans(collection: Opened, page: int, visits: list[Said]) -> list[Said]:
    """As they were last written down."""
    image = collection.image
    assert image is not None
    site = int(image.columns.origin.site[int(image.columns.page.origin[page])])
    return [_of_plan(plan, visits) for plan in read_history(collection.files.shard).about(page, site)]


def _of_plan(plan: Said, visits: list[Said]) -> Said:
    """With `words`: whether it had the page, and if not, why."""
    return plan | {"planned": plan["place_in_site"] is not None, "words": _plan_words(plan, visits)}


def _plan_words(plan: Said, visits: list[Said]) -> str:
    if plan["place_in_site"] is not None:
        return f"It had the page, as number {plan['place_in_site']:,} of the {plan['of_site']:,} of its site."
    if not plan["known"]:
        return "The page was not known yet."
    if any(v["time"] <= plan["made"] and _final(v) for v in visits):
        return "The page was done by then."
    if plan["aside"]:
        return "Its whole site was set aside."
    if plan["of_site"] >= plan["cap"]:
        return f"Better pages of its site filled manager.batch_per_site = {plan['cap']:,}."
    if plan["pages"] >= plan["batch"]:
        return f"Better pages filled manager.batch_size = {plan['batch']:,}."
    return "It could not be asked for at that time: it was on its way, waiting, or excluded."


def _final(visit: Said) -> bool:
    return TREATMENTS[Outcome[visit["outcome"].upper()]].again is Again.NEVER


def _by_files(found: Found, visits: list[Said], settings: Settings) -> Said:
    """The state as far as tables and journal tell: when it was found, and how its last visit ended."""
    said: Said = {"state": found.state.name.lower(), "reason": None, "depth": found.depth, "due": None}
    if found.state.name == "EXCLUDED":
        said["reason"] = found.reason.name.lower()
        said["words"] = f"{found.reason.sentence} That was so when it was found; it may have changed since."
        return said
    said["words"] = "Nobody had asked for it."
    if visits:
        outcome = Outcome[visits[-1]["outcome"].upper()]
        follows = TREATMENTS[outcome]
        tried = sum(TREATMENTS[Outcome[v["outcome"].upper()]].again is Again.LATER for v in visits)
        if follows.again is Again.LATER and tried < follows.most(settings.harvester.tries):
            pause = max(follows.pause(float(settings.harvester.retry)), visits[-1]["retry_after"] or 0.0)
            said |= {"state": "waiting", "due": visits[-1]["time"] + pause}
        elif follows.again is not Again.AT_ONCE:
            said["state"] = "done"
        said["outcome"], said["words"] = outcome.word, outcome.sentence
    return said
