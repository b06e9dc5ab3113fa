"""Before a crawl: its settings, its seeds, and whether it may start at all. Nothing is written here."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from gossamer import config, urls
from gossamer.base import disk
from gossamer.base.errors import UsageError
from gossamer.base.units import Duration
from gossamer.collection.layout import SETTINGS, is_collection, shard_folder
from gossamer.collection.runs import changes, runs
from gossamer.config.endpoints import endpoint
from gossamer.config.settings import HarvesterSettings, Settings
from gossamer.manager.value import Value
from gossamer.seeder.seeds import Seeds, read_seeds
from gossamer.web.fetch.certificates import read_certificates
from gossamer.webs.demo.web import DemoWeb
from gossamer.webs.hostile.web import LIMITS, HostileWeb

FIXED: Final = {
    "seeder.session_ids": "the URLs of its pages were made without these parameters",
    "seeder.www": "the URLs of its pages and the names of its sites were made with it",
    "seeder.transform": "the URLs of its pages were made with it",
    "harvester.agent": "the robots.txt rules that it has were read for that name",
}
"""Settings that cannot change once there are pages, and why."""


@dataclass(frozen=True, slots=True)
class Plea:
    """What was asked for on the command line."""

    folder: Path
    seeds: tuple[str, ...] = ()
    seed_files: tuple[Path, ...] = ()
    demo: DemoWeb | HostileWeb | None = None
    """The demonstration Web, or the hostile one, to serve along with the crawl."""
    config: Path | None = None
    changes: tuple[str, ...] = ()
    """KEY=VALUE."""
    pages: int | None = None
    seconds: float | None = None
    patience: float = 60.0
    demo_log: Path | None = None
    log: Path | None = None
    """Where events are logged, as JSON lines."""
    log_level: str = "info"
    user_settings: Path | None = None
    """Settings of this user for all crawls: only the contact and `harvester.about` are taken from them."""


@dataclass(frozen=True, slots=True)
class Prepared:
    settings: Settings
    seeds: Seeds
    toml: bytes | None
    """What crawl.toml is to hold from now on; None: what it holds already. Written by whoever has the lock."""
    changed: tuple[str, ...] = ()
    """A line for each setting that is another than before."""


def prepare(plea: Plea, say: Callable[[str], None], demo: Settings | None, demo_seeds: tuple[str, ...]) -> Prepared:
    """Settings: defaults, crawl.toml, --config, --set; then those of the demonstration Web, which are not stored."""
    folder, path = plea.folder, plea.folder / SETTINGS
    new = not is_collection(folder)
    if new:
        _check_empty(folder)
    stored = _stored(folder, new)
    settings = config.override(config.load(plea.config, stored) if plea.config else stored, plea.changes)
    settings = _with_contact(settings, plea.user_settings)
    if new and demo is not None:
        settings = _with_waits(settings, demo, _named(plea))
    seeds = read_seeds((*plea.seeds, *demo_seeds), plea.seed_files, settings.seeder)
    for complaint in seeds.complaints:
        say(f"skipped: {complaint}")
    if new and not seeds.urls:
        raise UsageError(
            f"no usable seed for {folder}",
            "Give --seed URL or --seeds FILE, or try the demonstration Web with --demo.",
        )
    settings = _with_ports(_with_domains(settings, () if new else _domains_before(folder, stored), seeds), seeds)
    _note_outside(settings, seeds, say)
    effective = _with_trusted(settings if demo is None else _with_addresses(settings, demo), folder)
    changed = [] if new else _changed(folder, stored, effective, demo)
    if changed:
        _refuse_fixed(changed, folder)
        for line in changed:
            say(f"changed: {line}")
    Value.of(effective.manager)
    _check_contact(effective, seeds.urls)
    keep = path.exists() and settings == config.load(path)
    return Prepared(effective, seeds, None if keep else config.dump(settings).encode(), tuple(changed))


def _check_empty(folder: Path) -> None:
    path = folder / SETTINGS
    begun = {path, path.with_name(path.name + disk.TEMPORARY), shard_folder(folder)}
    if folder.exists() and (not folder.is_dir() or set(folder.iterdir()) - begun):
        raise UsageError(
            f"{folder} is not a collection, and not empty",
            "Name an empty or a new folder, or one that was crawled into.",
        )


def _stored(folder: Path, new: bool) -> Settings:
    """What crawl.toml says. A collection from before runs were recorded knows nothing of `seeder.www`: it is off; one
    whose runs know nothing of `seeder.ports` has pages at any."""
    usual = Settings()
    if not new:
        recorded = runs(shard_folder(folder))
        ports = usual.seeder.ports if recorded and "ports" in recorded[-1]["settings"]["seeder"] else ("*",)
        usual = replace(usual, seeder=replace(usual.seeder, www=bool(recorded), ports=ports))
    path = folder / SETTINGS
    return config.load(path, usual) if path.exists() else usual


def _changed(folder: Path, stored: Settings, now: Settings, demo: Settings | None) -> list[str]:
    """Since the run before, whoever has edited crawl.toml; a demonstration's addresses are no change."""
    recorded = runs(shard_folder(folder))
    return changes(recorded, now, stored, lambda before: before if demo is None else _with_addresses(before, demo))


def _with_domains(settings: Settings, before: tuple[str, ...], seeds: Seeds) -> Settings:
    """Where none are named: those of the collection, in a new one those of the seeds."""
    if settings.seeder.domains:
        return settings
    domains = before or tuple(dict.fromkeys(urls.registrable(urls.host(seed)) for seed in seeds.urls))
    return replace(settings, seeder=replace(settings.seeder, domains=domains))


def _with_ports(settings: Settings, seeds: Seeds) -> Settings:
    """Those of the seeds are accepted too."""
    scope, ports = urls.Scope.of(settings.seeder), settings.seeder.ports
    more = dict.fromkeys(str(urls.split(seed).port) for seed in seeds.urls if not scope.accepts_port(seed))
    return replace(settings, seeder=replace(settings.seeder, ports=(*ports, *more)))


def _domains_before(folder: Path, stored: Settings) -> tuple[str, ...]:
    """Those of crawl.toml, else of the last run: derived from seeds that are not given again."""
    recorded = runs(shard_folder(folder))
    last: list[str] = recorded[-1]["settings"]["seeder"]["domains"] if recorded else []
    return stored.seeder.domains or tuple(last)


def _note_outside(settings: Settings, seeds: Seeds, say: Callable[[str], None]) -> None:
    scope = urls.Scope.of(settings.seeder)
    for seed in seeds.urls:
        if not scope.accepts(urls.host(seed)):
            say(f"note: {seed} is outside seeder.domains: it is fetched, links to its site are not followed")


def _refuse_fixed(changed: list[str], folder: Path) -> None:
    for line in changed:
        reason = FIXED.get(line.partition(":")[0])
        if reason:
            raise UsageError(
                f"{line}: cannot change in a collection that has pages: {reason}",
                f"Undo the change in {folder / SETTINGS}, or crawl into a new folder.",
            )


def _with_contact(settings: Settings, user: Path | None) -> Settings:
    """Where the crawl says nothing about whose it is: what the user says for all crawls."""
    own = settings.harvester
    if own.contact or own.about or user is None or not user.exists():
        return settings
    said = config.load(user).harvester
    return replace(settings, harvester=replace(own, contact=said.contact, about=said.about))


def _with_trusted(settings: Settings, folder: Path) -> Settings:
    """The file of certificates by its whole path: in the collection's folder, else in the working folder."""
    own = settings.harvester.trusted
    if not own:
        return settings
    path = next((each for each in (folder / own, Path(own)) if each.exists()), Path(own)).absolute()
    read_certificates(path)
    return replace(settings, harvester=replace(settings.harvester, trusted=str(path)))


def _with_addresses(settings: Settings, demo: Settings) -> Settings:
    """Those of the demonstration Web: not stored, they change with every start."""
    trusted = demo.harvester.trusted or settings.harvester.trusted
    harvester = replace(settings.harvester, resolve=demo.harvester.resolve, allow_private=True, trusted=trusted)
    return replace(settings, harvester=harvester)


def _with_waits(settings: Settings, demo: Settings, named: set[str]) -> Settings:
    """The demonstration Web is ours: small waits, unless the user has set others. A resume has those of before."""
    names = (*DEMO_WAITS, *LIMITS)
    own = {name: getattr(demo.harvester, name) for name in names if f"harvester.{name}" not in named}
    return replace(settings, harvester=replace(settings.harvester, **own))


def _named(plea: Plea) -> set[str]:
    """Settings that the user has said anything about, be it the default."""
    files = [path for path in (plea.config, plea.folder / SETTINGS) if path is not None and path.exists()]
    given = {change.partition("=")[0].strip() for change in plea.changes}
    return given.union(*(config.named(path) for path in files))


DEMO_WAITS: Final = {"wait": Duration(0.02), "wait_large": Duration(0.005), "address_wait": Duration(0.005)}


def demo_settings(
    resolve: dict[str, str], domains: tuple[str, ...], trusted: str = "", hostile: bool = False
) -> Settings:
    """Names below its domains that it does not have lead nowhere: no resolver is asked about them."""
    nowhere = {f"*.{domain}": "none" for domain in domains}
    own: dict[str, Any] = {**DEMO_WAITS, **(LIMITS if hostile else {})}
    harvester = HarvesterSettings(resolve={**resolve, **nowhere}, allow_private=True, trusted=trusted, **own)
    return Settings(harvester=harvester)


def _check_contact(settings: Settings, seeds: tuple[str, ...]) -> None:
    hosts = tuple(dict.fromkeys(urls.host(seed) for seed in seeds))
    if settings.harvester.contact or settings.harvester.about or only_loopback(settings, hosts):
        return
    raise UsageError(
        "a crawl beyond this machine needs a contact: whoever runs a site must be able to reach you",
        'Give --contact you@example.org, or set harvester.contact = "you@example.org" in crawl.toml,'
        " or once for all crawls in ~/.config/gossamer/crawl.toml.",
    )


def only_loopback(settings: Settings, hosts: tuple[str, ...] = ()) -> bool:
    """Can nothing in the scope, and none of these hosts, lead off this machine?"""
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
    """An address, with or without a port; "none" leads nowhere."""
    if text == "none":
        return True
    found = endpoint(text)
    return found is not None and ipaddress.ip_address(found[0]).is_loopback
