"""Explains a URL: collects everything that is known about it in one `PageAnswer`."""

from __future__ import annotations

from pathlib import Path
from typing import Final, cast

from gossamer import urls
from gossamer.base.model import NONE, LinkKind
from gossamer.base.outcomes import TREATMENTS, Again, Outcome
from gossamer.collection.forgetting import tombstones
from gossamer.collection.layout import shard_folder
from gossamer.collection.runs import stored_settings
from gossamer.config import Settings
from gossamer.manager.history import sound_history
from gossamer.observe.status import page_standing, scores_of, unknown_standing
from gossamer.read.explain import answers
from gossamer.read.explain.address import address_of, scope_verdict
from gossamer.read.explain.answers import PageAnswer, PageState, Plan, PlanFacts, Visit
from gossamer.read.explain.collection import Opened, opened, steadily
from gossamer.read.explain.files import Discovery, NewPage
from gossamer.read.explain.visits import probes_of, sitemaps_of, visits_of

LETTERS: Final = {kind: kind.name[0] for kind in LinkKind} | {LinkKind.ANCHOR: "L", LinkKind.SITEMAP: "M"}
LEGEND: Final = "S seed, L link, F frame, E embedded, C canonical, A alternate, R redirect, M sitemap"
LONGEST_WAY: Final = 1_000
"""Maximum number of steps that are shown from a seed to the page."""
MOST_SAME: Final = 20
"""Maximum number of duplicates that are named."""


def explain_page(folder: Path, given: str, unchecked: bool = False) -> PageAnswer:
    """Everything that the collection knows about a URL, in any spelling."""
    return steadily(lambda: _explain(folder, given, unchecked))


def _explain(folder: Path, given: str, unchecked: bool) -> PageAnswer:
    settings = stored_settings(folder)
    scope = urls.Scope.of(settings.seeder)
    address = address_of(given, settings.seeder, scope)
    answer: PageAnswer = {"given": given, "url": address.canonical, "steps": list(address.steps)}
    if address.canonical is None:
        answer |= {"known": False, "why_not": ["It is not an http or https URL, so it cannot be a page."]}
        return answer
    url = address.canonical
    if (tombstone := tombstones.read(shard_folder(folder)).tombstone(url)) is not None:
        answer |= {"known": False, "why_not": [tombstone.told()]}
        return answer
    answer["scope"] = scope_verdict(url, settings.seeder, scope)
    collection = opened(folder, settings, {"page": url}, unchecked)
    answer["as_of"] = collection.as_of
    page, near = _find(collection, url)
    if page is not None:
        answer |= {"known": True, "page": page}
        answer |= _known(collection, page, url)
        return answer
    answer |= {"known": False, "why_not": _why_not(collection, answer["scope"], url), "near": near}
    answer |= {"sitemap": _as_sitemap(collection, url, scope), "would": _would(collection, url)}
    return answer


def _as_sitemap(collection: Opened, url: str, scope: urls.Scope) -> Visit | None:
    """The last request for the URL as a sitemap; None if it is not a sitemap."""
    site = collection.site_number(urls.host(url))
    sitemaps = sitemaps_of(collection.files, site) if site != NONE else {}
    requests = [visit for named, visit in sitemaps.items() if scope.canonical(named) == url]
    if not requests:
        return None
    last = requests[-1]
    last["sentence"] = _outcome(last).sentence
    return last


def _outcome(visit: Visit) -> Outcome:
    return Outcome[visit["outcome"].upper()]


def _would(collection: Opened, url: str) -> answers.Hypothetical | None:
    """If the site of an unknown URL is known: what robots.txt says about it, and when the site may be requested."""
    live, image = collection.live, collection.image
    if live is not None:
        return cast("answers.Hypothetical | None", live.get("would"))
    site = NONE if image is None else image.site_number(urls.host(url))
    if image is None or site == NONE:
        return None
    return cast(answers.Hypothetical, unknown_standing(image, collection.settings, collection.wall, site, url))


def _find(collection: Opened, url: str) -> tuple[int | None, list[str]]:
    """The number of the page; if it is not known, None and the other spellings of the URL that are known."""
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


def _why_not(collection: Opened, scope: answers.ScopeVerdict, url: str) -> list[str]:
    """All reasons why a URL is not a known page. If nothing excludes it, no page and no sitemap has named it."""
    why = [] if scope["accepted"] else [scope["words"]]
    settings, live, image = collection.settings, collection.live or {}, collection.image
    site_pages = live.get("site_pages")
    if image is not None and site_pages is None:
        site = image.site_number(urls.host(url))
        site_pages = None if site == NONE else int(image.columns.site.pages[site])
    limit, most = settings.seeder.pages_per_site, settings.collection.max_pages
    if site_pages is not None and site_pages >= limit:
        why.append(f"Its site has {site_pages} known pages, and seeder.pages_per_site = {limit} allows no more.")
    if collection.files.known >= most:
        why.append(f"The collection is full: collection.max_pages = {most}.")
    if site_pages is None and live.get("sites", 0) >= settings.collection.max_sites:
        why.append(
            f"The collection has no room for another site: collection.max_sites = {settings.collection.max_sites}."
        )
    why += _full_domain(collection, urls.host(url)) if scope["accepted"] else []
    return why or ["No fetched page links to it by a link that is followed, and no sitemap lists it."]


def _full_domain(collection: Opened, host: str) -> list[str]:
    """Why the registrable domain of a host takes no more sites or pages, as far as an image tells."""
    from gossamer.desk.domains import Room, most_of

    image, domain = collection.image, urls.registrable(host)
    if image is None:
        return []
    own, site = image.site_number(host), image.columns.site
    known = own if own != NONE else image.site_number(domain)
    if known == NONE:
        others = (n for n in range(site.count) if urls.registrable(image.site_name(n)) == domain)
        known = next(others, NONE)
    if known == NONE:
        return []
    first, room = int(site.domain[known]), Room.of(collection.settings)
    has = {"sites": int(site.domain_sites[first]), "pages": int(site.domain_pages[first])}
    most = {name: most_of(base, int(site.vouched[first])) for name, base in room._asdict().items()}
    full = [name for name in has if has[name] >= most[name] and (name == "pages" or own == NONE)]
    return [
        f"Its domain {domain} has {has[name]} {name}, and seeder.{name}_per_domain and the links from other domains"
        f" allow {most[name]}."
        for name in full
    ]


def _known(collection: Opened, page: int, url: str) -> PageAnswer:
    files = collection.files
    way = files.way(page, LONGEST_WAY)
    visits, same = visits_of(files, page)
    originals = [v["duplicate_of"] for v in visits if v["duplicate_of"] is not None]
    named = [*(step.page for step in way), *originals[-1:], *same[:MOST_SAME]]
    texts = files.urls(named)
    for visit in visits:
        visit["sentence"] = _outcome(visit).sentence
    new = files.page(page)
    answer: PageAnswer = {"found": _found(new, way, texts)}
    answer |= _now(collection, page, url, new, visits)
    answer |= {
        "visits": visits,
        "duplicate_of": texts[originals[-1]] if originals else None,
        "probes": _probes(collection, url, visits),
        "duplicates": {"pages": len(same), "urls": [texts[p] for p in same[:MOST_SAME]]},
    }
    return answer


def _probes(collection: Opened, url: str, visits: list[Visit]) -> dict[str, Visit]:
    """For a soft 404: the probes of its site, by URL."""
    if not visits or visits[-1]["outcome"] != Outcome.SOFT_404.word:
        return {}
    return probes_of(collection.files, collection.files.site_number(urls.host(url)))


def _found(new: NewPage, way: list[Discovery], texts: dict[int, str]) -> answers.Found:
    return {
        "time": new.time,
        "kind": way[0].kind.name.lower(),
        "on": texts.get(way[0].source),
        "depth": new.depth,
        "way": "".join(LETTERS[step.kind] for step in reversed(way)),
        "urls": [texts[step.page] for step in reversed(way)],
    }


def _now(collection: Opened, page: int, url: str, new: NewPage, visits: list[Visit]) -> PageAnswer:
    """State, scores and plans of a page, from the best source."""
    live, image, wall = collection.live, collection.image, collection.wall
    if live is not None:
        state = {name: live.get(name) for name in ("standing", "scores", "plan", "next_turn", "quiet_until")}
        return cast(PageAnswer, state | {"plans": [_with_words(plan, visits) for plan in live.get("plans", ())]})
    if image is None or page >= image.columns.page.count:
        return {"standing": _by_files(new, visits, collection.settings), "scores": None}
    settings = collection.settings
    scores = scores_of(image.columns, settings, image.issued, wall, page) if image.ranked else None
    return {
        "plans": _past_plans(collection, page, visits),
        "standing": cast(PageState, page_standing(image, settings, wall, page, url)),
        "scores": cast("answers.Scores | None", scores),
    }


def _past_plans(collection: Opened, page: int, visits: list[Visit]) -> list[Plan]:
    """The last plans, as they were last written to disk."""
    image = collection.image
    assert image is not None
    site = int(image.columns.origin.site[int(image.columns.page.origin[page])])
    plans = sound_history(collection.files.shard).about(page, site)
    return [_with_words(cast(PlanFacts, plan), visits) for plan in plans]


def _with_words(plan: PlanFacts, visits: list[Visit]) -> Plan:
    return {**plan, "planned": plan["place_in_site"] is not None, "words": _plan_words(plan, visits)}


def _plan_words(plan: PlanFacts, visits: list[Visit]) -> str:
    """Whether a plan contained the page, and if not, why."""
    if plan["place_in_site"] is not None:
        return f"It contained the page, as number {plan['place_in_site']:,} of the {plan['of_site']:,} of its site."
    if not plan["known"]:
        return "The page was not known yet."
    if any(v["time"] <= plan["made"] and _final(v) for v in visits):
        return "The page was already done."
    if plan["aside"]:
        return "Its site was suspended."
    if plan["of_site"] >= plan["cap"]:
        return f"Better pages of its site filled manager.batch_per_site = {plan['cap']:,}."
    if plan["pages"] >= plan["batch"]:
        return f"Better pages filled manager.batch_size = {plan['batch']:,}."
    return "The page could not be requested at that time: it was in flight, waiting, or excluded."


def _final(visit: Visit) -> bool:
    return TREATMENTS[_outcome(visit)].again is Again.NEVER


def _by_files(new: NewPage, visits: list[Visit], settings: Settings) -> PageState:
    """The state as far as tables and journal tell: its state when it was found, and the outcome of its last visit."""
    state: PageState = {"state": new.state.name.lower(), "reason": None, "depth": new.depth, "due": None}
    if new.state.name == "EXCLUDED":
        state["reason"] = new.reason.name.lower()
        state["words"] = f"{new.reason.sentence} This was so when it was found; it may have changed since."
        return state
    state["words"] = "It was not requested yet."
    if visits:
        outcome = _outcome(visits[-1])
        follows = TREATMENTS[outcome]
        tried = sum(TREATMENTS[_outcome(visit)].again is Again.LATER for visit in visits)
        if follows.again is Again.LATER and tried < follows.most(settings.harvester.tries):
            pause = max(follows.pause(float(settings.harvester.retry)), visits[-1]["retry_after"] or 0.0)
            state |= {"state": "waiting", "due": visits[-1]["time"] + pause}
        elif follows.again is not Again.AT_ONCE:
            state["state"] = "done"
        state["outcome"], state["words"] = outcome.word, outcome.sentence
    return state
