"""Prepares a crawl: reads its settings and seeds, and checks whether it may start. Nothing is written here."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from gossamer import config, urls
from gossamer.base import disk
from gossamer.base.errors import UsageError
from gossamer.collection.layout import SETTINGS, is_collection, shard_folder
from gossamer.collection.manifest import url_form
from gossamer.collection.orders import waiting
from gossamer.collection.runs import changes, in_form, runs, tables_before
from gossamer.config.accepted import endpoint
from gossamer.config.load import line_of_rule
from gossamer.config.presets import PACES
from gossamer.config.rules import WrongRuleError
from gossamer.config.settings import HarvesterSettings, PluginSettings, Settings
from gossamer.crawler.processing.frames import MOST_PROCESSORS
from gossamer.manager import older
from gossamer.manager.value import Value
from gossamer.plugins.find import Plugin, files, find
from gossamer.plugins.kinds import BUILT_IN, KINDS
from gossamer.plugins.rows import Table
from gossamer.plugins.schema import checked, tables_of
from gossamer.plugins.trust import require_confirmed
from gossamer.seeder.seeds import Seeds, read_seeds
from gossamer.web.addresses import forbidden
from gossamer.web.fetch.request import read_certificates
from gossamer.web.owner.key import place, read

FIXED: Final = {
    "seeder.session_ids": "the URLs of its pages were made without these parameters",
    "seeder.www": "the URLs of its pages and the names of its sites were made with it",
    "seeder.transform": "the URLs of its pages were made with it",
    "seeder.url_form": "the URLs of its pages were made in that form",
    "manager.history": "its pages have the scores of that collection",
    "harvester.agent": "the robots.txt rules that it has were read for that name",
    'seeder.follow: "links" -> "sitemaps"': "it is not stored which of its pages sitemaps list",
}
"""Settings that cannot change, or changes that cannot be made, once the collection has pages, and why."""
MOST_NAMED: Final = 10
"""Sites of the operator that are named at the start."""


_SITE: Final = re.compile(r"[\w-]+(?:\.[\w-]+)+(?:[:/].*)?")

Say = Callable[[str], None]


class NoContactError(UsageError):
    """The crawl leaves this machine, and nobody can be reached about it."""


@dataclass(frozen=True, slots=True)
class LocalWeb:
    """A Web that this machine serves for the crawl: the demonstration Web, or the hostile Web."""

    settings: Settings
    """The addresses of its names, and its certificates: never stored, since ports change with every start."""
    seeds: tuple[str, ...] = ()
    usual: tuple[str, ...] = ()
    """Settings that a new collection takes from `settings`, unless the user has set them."""


@dataclass(frozen=True, slots=True)
class CrawlRequest:
    """What the user asks for: the arguments of `gossamer crawl`."""

    folder: Path
    seeds: tuple[str, ...] = ()
    seed_files: tuple[Path, ...] = ()
    serve: Callable[[Say], AbstractContextManager[LocalWeb]] | None = None
    """Starts a Web to serve during the crawl, and stops it at the end. It is called after all checks that can refuse
    the crawl at once."""
    config: Path | None = None
    changes: tuple[str, ...] = ()
    """KEY=VALUE."""
    pages: int | None = None
    seconds: float | None = None
    patience: float = 60.0
    log: Path | None = None
    """Where events are logged, as JSON lines."""
    log_level: str = "info"
    beside: Path | None = None
    """A collection that this one belongs to: what was forgotten there is kept out here."""
    user_settings: Path | None = None
    """Settings of this user for all crawls: only the contact and `harvester.about` are taken from them."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """The settings and seeds of a crawl that may start."""

    settings: Settings
    seeds: Seeds
    toml: bytes | None
    """The new content of crawl.toml; None: it stays as it is. Written only under the lock."""
    changed: tuple[str, ...] = ()
    """One line for each setting that differs from the run before."""
    plugins: tuple[Plugin, ...] = ()
    """The plug-ins that the settings name; their files are confirmed."""
    processors: tuple[tuple[Plugin, Table], ...] = ()
    """The plug-ins that see pages in a process of their own, and the table that each fills."""
    tables: Mapping[str, str] = field(default_factory=dict)
    """All tables that are filled, with their columns, as the run records them."""


def prepare(request: CrawlRequest, say: Say, local: LocalWeb | None = None) -> Prepared:
    """Reads the settings, each source over the one before: defaults, crawl.toml, --config, --set, and last the settings
    of a Web on this machine, which are not stored."""
    folder, path = request.folder, request.folder / SETTINGS
    new = not is_collection(folder)
    if new:
        _check_empty(folder)
    stored = _stored(folder, new)
    settings = config.override(config.load(request.config, stored) if request.config else stored, request.changes)
    settings = _with_history(with_contact(settings, request.user_settings))
    if new and local is not None:
        settings = _with_usual(settings, local, _named(request))
    local_seeds = () if local is None else local.seeds
    seeds = read_seeds((*request.seeds, *local_seeds), request.seed_files, settings.seeder)
    left = read_seeds(waiting(shard_folder(folder)).add, (), settings.seeder).urls
    for complaint in seeds.complaints:
        say(f"skipped: {complaint}")
    if new and not seeds.urls:
        raise UsageError(f"no usable seed for {folder}", _seed_cure(folder, seeds))
    settings = _with_domains(settings, () if new else _domains_before(folder, stored), seeds)
    settings = _with_ports(settings, (*seeds.urls, *left))
    note_outside(settings, seeds.urls, say)
    effective = _with_trusted(_with_addresses(settings, local), folder)
    changed = [] if new else _changed(folder, stored, effective, local)
    if changed:
        _refuse_fixed(changed, folder)
        for line in changed:
            say(f"changed: {line}")
    Value.of(effective.manager)
    older.check(effective.manager, shard_folder(folder), effective.seeder.url_form)
    check_contact(effective, (*seeds.urls, *left))
    if new:
        _note_private(effective, seeds.urls, say)
    _check_key(effective.harvester, say)
    plugins = find(effective.plugins, folder)
    require_confirmed(plugins)
    _check_own_order(effective)
    processors, tables = _tables(request, effective.plugins, plugins)
    keep = path.exists() and settings == config.load(path)
    toml = None if keep else config.dump(settings).encode()
    return Prepared(effective, seeds, toml, tuple(changed), plugins, processors, tables)


def _tables(
    request: CrawlRequest, settings: PluginSettings, plugins: Sequence[Plugin]
) -> tuple[tuple[tuple[Plugin, Table], ...], dict[str, str]]:
    """The processors with their tables, and the columns of all tables. UsageError if they do not fit."""
    if not settings.extract and not plugins:
        return (), {}
    from gossamer.gatherer.extract import extractor

    try:
        extractor.check_selectors(settings.extract)
    except WrongRuleError as error:
        raise UsageError(f"{_rule_at(request, error)}: extract: {error}", "Correct the selector.") from error
    in_crawl = [each for each in plugins if KINDS[each.kind].in_crawls and each.name not in BUILT_IN]
    apart = [each for each in in_crawl if KINDS[each.kind].apart]
    if len(apart) > MOST_PROCESSORS:
        wrong = f"plugins.process and plugins.filter name {len(apart)} plug-ins"
        raise UsageError(wrong, f"At most {MOST_PROCESSORS} are accepted.")
    own = tables_of(in_crawl)
    shard = shard_folder(request.folder)
    recorded = checked([*own, *extractor.tables(settings)], tables_before(shard))
    return tuple(zip(apart, own, strict=True)), recorded


def _check_own_order(settings: Settings) -> None:
    """A score needs a weight, and a strategy its policy; and the other way round."""
    manager, own = settings.manager, settings.plugins
    weighs, orders = manager.weights.get("plugin", 0) > 0, manager.policy == "plugin"
    if own.score and not weighs:
        cure = "Set manager.weights, as in { completed = 1.0, plugin = 1.0 }, or leave the score out."
        raise UsageError(f"plugins.score: {own.score[0]} has no weight", cure)
    if weighs and not own.score:
        cure = 'Name a score, as in plugins.score = "my.py:score", or leave the weight out.'
        raise UsageError("manager.weights has a weight for plugin, and plugins.score names no score", cure)
    if own.strategy and not orders:
        cure = 'Set manager.policy to "plugin", or leave the strategy out.'
        raise UsageError(f"plugins.strategy: {own.strategy[0]} is not in force under {manager.policy}", cure)
    if orders and not own.strategy:
        cure = 'Name a strategy, as in plugins.strategy = "my.py:order".'
        raise UsageError("manager.policy is plugin, and plugins.strategy names no strategy", cure)


def _rule_at(request: CrawlRequest, error: WrongRuleError) -> str:
    """Where the rule is that is wrong."""
    for path in (request.config, request.folder / SETTINGS):
        if path is not None and path.exists():
            with disk.naming("read", path):
                line = line_of_rule(path.read_text(errors="replace"), error.number, error.key)
            if line:
                return f"{path}, line {line}"
    return f"rule {error.number + 1}"


def _seed_cure(folder: Path, seeds: Seeds) -> str:
    """How to give seeds. A name like "example.org" that is no folder yet was meant as the site."""
    if not seeds.complaints and not folder.exists() and _SITE.fullmatch(str(folder)):
        return f"{folder} is the folder to crawl into. To crawl the site: gossamer crawl https://{folder}"
    return (
        "Name a URL (gossamer crawl DIR https://example.org), give --seeds FILE, or try the demonstration Web with "
        "--demo."
    )


def _check_empty(folder: Path) -> None:
    path = folder / SETTINGS
    begun = {path, path.with_name(path.name + disk.TEMPORARY), shard_folder(folder)}
    if path.is_file():
        begun |= {folder / file.parts[0] for file in files(config.load(path).plugins)}
    if folder.exists() and (not folder.is_dir() or set(folder.iterdir()) - begun):
        raise UsageError(
            f"{folder} is not a collection, and not empty",
            "Name a new or an empty folder, or the folder of a collection: gossamer crawl DIR https://example.org",
        )


def _stored(folder: Path, new: bool) -> Settings:
    """The settings in crawl.toml. Older collections get older defaults: `seeder.www` is off if no run is recorded,
    `seeder.ports` allows every port if the recorded runs do not have this setting, `seeder.url_form` is as the manifest
    says, and `seeder.session_ids` as in the last run, since the default list grows."""
    usual = Settings()
    if not new:
        recorded = runs(shard_folder(folder))
        ports = usual.seeder.ports if recorded and "ports" in recorded[-1]["settings"]["seeder"] else ("*",)
        last = recorded[-1]["settings"]["seeder"].get("session_ids") if recorded else None
        sessions = usual.seeder.session_ids if last is None else tuple(last)
        usual = replace(usual, seeder=replace(usual.seeder, www=bool(recorded), ports=ports, session_ids=sessions))
        usual = in_form(usual, url_form(shard_folder(folder)))
    path = folder / SETTINGS
    return config.load(path, usual) if path.exists() else usual


def _changed(folder: Path, stored: Settings, now: Settings, local: LocalWeb | None) -> list[str]:
    """Settings that differ from the last run. Addresses of a local Web do not count, and the form of URLs was always
    that of the manifest, which runs of older versions do not name."""
    recorded, form = runs(shard_folder(folder)), url_form(shard_folder(folder))
    return changes(recorded, now, stored, lambda before: in_form(_with_addresses(before, local), form))


def _with_domains(settings: Settings, before: tuple[str, ...], seeds: Seeds) -> Settings:
    """If no domains are set: the domains of the collection, or of the seeds if the collection is new."""
    if settings.seeder.domains:
        return settings
    domains = before or tuple(dict.fromkeys(urls.registrable(urls.host(seed)) for seed in seeds.urls))
    return replace(settings, seeder=replace(settings.seeder, domains=domains))


def _with_ports(settings: Settings, seeds: Sequence[str]) -> Settings:
    """Adds the ports of the seeds."""
    scope, ports = urls.Scope.of(settings.seeder), settings.seeder.ports
    more = dict.fromkeys(str(urls.split(seed).port) for seed in seeds if not scope.accepts_port(seed))
    return replace(settings, seeder=replace(settings.seeder, ports=(*ports, *more)))


def _domains_before(folder: Path, stored: Settings) -> tuple[str, ...]:
    """The domains in crawl.toml, or else of the last run, which derived them from its seeds."""
    recorded = runs(shard_folder(folder))
    last: list[str] = recorded[-1]["settings"]["seeder"]["domains"] if recorded else []
    return stored.seeder.domains or tuple(last)


def note_outside(settings: Settings, seeds: Sequence[str], say: Say) -> None:
    """Says which seeds have sites whose links are not followed."""
    scope = urls.Scope.of(settings.seeder)
    for seed in seeds:
        if not scope.accepts(urls.host(seed)):
            say(f"note: {seed} is outside seeder.domains: it is fetched, links to its site are not followed")


def _refuse_fixed(changed: list[str], folder: Path) -> None:
    for line in changed:
        reason = FIXED.get(line.partition(":")[0], FIXED.get(line))
        if reason:
            raise UsageError(
                f"{line}: cannot change in a collection that has pages: {reason}",
                f"Undo the change in {folder / SETTINGS}, or crawl into a new folder.",
            )


def with_contact(settings: Settings, user: Path | None) -> Settings:
    """If the crawl names neither contact nor about page: takes them from the user's settings for all crawls."""
    own = settings.harvester
    if own.contact or own.about or user is None or not user.exists():
        return settings
    said = config.load(user).harvester
    return replace(settings, harvester=replace(own, contact=said.contact, about=said.about))


def _with_history(settings: Settings) -> Settings:
    """Makes the path of the older collection absolute, as it is stored: the next start may be in another folder."""
    own = settings.manager.history
    return (
        settings if not own else replace(settings, manager=replace(settings.manager, history=str(Path(own).absolute())))
    )


def _with_trusted(settings: Settings, folder: Path) -> Settings:
    """Makes the path of the certificate file absolute: in the collection's folder, or else in the working folder."""
    own = settings.harvester.trusted
    if not own:
        return settings
    path = next((each for each in (folder / own, Path(own)) if each.exists()), Path(own)).absolute()
    read_certificates(path)
    return replace(settings, harvester=replace(settings.harvester, trusted=str(path)))


def _with_addresses(settings: Settings, local: LocalWeb | None) -> Settings:
    if local is None:
        return settings
    theirs, ours = local.settings.harvester, settings.harvester
    trusted = theirs.trusted or ours.trusted
    return replace(settings, harvester=replace(ours, resolve=theirs.resolve, allow_private=True, trusted=trusted))


def _with_usual(settings: Settings, local: LocalWeb, named: set[str]) -> Settings:
    """Takes the usual settings of a local Web, unless the user has set them. Only for a new collection: a resumed
    crawl keeps the settings of its first run. Those of re-visits are for a continuous crawl."""
    if "harvester.pace" in named:
        named = named | {f"harvester.{name}" for name in PACES[settings.harvester.pace]}
    if "manager.preset" in named or not settings.manager.continuous:
        named = named | {"manager.min_period"}
    for section, name in (key.split(".") for key in local.usual if key not in named):
        usual = {name: getattr(getattr(local.settings, section), name)}
        settings = replace(settings, **{section: replace(getattr(settings, section), **usual)})
    return settings


def _named(request: CrawlRequest) -> set[str]:
    """Settings that the user has set, even if to the default."""
    files = [path for path in (request.config, request.folder / SETTINGS) if path is not None and path.exists()]
    given = {change.partition("=")[0].rstrip("+ ").strip() for change in request.changes}
    return given.union(*(config.named(path) for path in files))


def _check_key(harvester: HarvesterSettings, say: Say) -> None:
    """Says which sites are claimed as the operator's, if any may be."""
    if not harvester.mine:
        return
    path = place(harvester.mine_key)
    sites = sorted(read(path).sites)
    if not sites:
        raise UsageError(f"{path} claims no site", "Claim yours with `gossamer mine SITE`.")
    say(f"yours, if they prove it: {', '.join(sites[:MOST_NAMED])}" + " …" * (len(sites) > MOST_NAMED))


def check_contact(settings: Settings, seeds: Sequence[str]) -> None:
    """Raises NoContactError if a crawl of these seeds leaves this machine, and nobody can be reached about it."""
    hosts = tuple(dict.fromkeys(urls.host(seed) for seed in seeds))
    if settings.harvester.contact or settings.harvester.about or only_loopback(settings, hosts):
        return
    raise NoContactError(
        "a crawl beyond this machine needs a contact: site operators must be able to reach you",
        'Give --contact you@example.org, or set harvester.contact = "you@example.org" in crawl.toml,'
        " or once for all crawls in ~/.config/gossamer/crawl.toml.",
    )


def _note_private(settings: Settings, seeds: Sequence[str], say: Say) -> None:
    """Says which seeds are at private addresses: their sites will wait, and nothing will be requested there."""
    if settings.harvester.allow_private or settings.harvester.resolve:
        return
    for host in dict.fromkeys(filter(_is_private, map(urls.host, seeds))):
        say(f"note: {host} is a private address, not requested; if it is yours: --set harvester.allow_private=true")


def _is_private(name: str) -> bool:
    found = endpoint(name)
    return name == "localhost" or (found is not None and forbidden(found[0]))


def only_loopback(settings: Settings, hosts: tuple[str, ...] = ()) -> bool:
    """Whether everything in the scope, and each of these hosts, is on this machine."""
    resolve, domains = settings.harvester.resolve, settings.seeder.domains
    if not all(_is_loopback(target) for target in resolve.values()):
        return False
    if "*" in resolve:
        return True
    covered = all(f"*.{domain}" in resolve or _is_here(domain) for domain in domains)
    scope = urls.Scope.of(settings.seeder)
    return bool(domains) and covered and all(scope.accepts(host) or host in resolve or _is_here(host) for host in hosts)


def _is_here(name: str) -> bool:
    return name == "localhost" or _is_loopback(name)


def _is_loopback(text: str) -> bool:
    """Whether it is a loopback address, with or without a port; "none" counts, since it leads nowhere."""
    if text == "none":
        return True
    found = endpoint(text)
    return found is not None and ipaddress.ip_address(found[0]).is_loopback
