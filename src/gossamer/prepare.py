"""Before a crawl: its settings, its seeds, and whether it may start at all. Nothing is written here."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from gossamer import config, disk, urls
from gossamer.collection.layout import SETTINGS, is_collection, shard_folder
from gossamer.config.settings import HarvesterSettings, Settings
from gossamer.demo.web import DemoWeb
from gossamer.errors import UsageError
from gossamer.seeder.seeds import Seeds, read_seeds
from gossamer.units import Duration

FIXED: Final = ("seeder.session_ids",)
"""Settings that cannot change once there are pages: the canonical form of their URLs depends on them."""


@dataclass(frozen=True, slots=True)
class Plea:
    """What was asked for on the command line."""

    folder: Path
    seeds: tuple[str, ...] = ()
    seed_files: tuple[Path, ...] = ()
    demo: DemoWeb | None = None
    """The demonstration Web to serve along with the crawl."""
    config: Path | None = None
    changes: tuple[str, ...] = ()
    """KEY=VALUE."""
    pages: int | None = None
    seconds: float | None = None
    patience: float = 60.0
    demo_log: Path | None = None
    user_settings: Path | None = None
    """Settings of this user for all crawls: only the contact is taken from them."""


@dataclass(frozen=True, slots=True)
class Prepared:
    settings: Settings
    seeds: Seeds
    toml: bytes | None
    """What crawl.toml is to hold from now on; None: what it holds already. Written by whoever has the lock."""


def prepare(plea: Plea, say: Callable[[str], None], demo: Settings | None, demo_seeds: tuple[str, ...]) -> Prepared:
    """Settings: defaults, crawl.toml, --config, --set; then those of the demonstration Web, which are not stored."""
    folder, path = plea.folder, plea.folder / SETTINGS
    new = not is_collection(folder)
    begun = {path, path.with_name(path.name + disk.TEMPORARY), shard_folder(folder)}
    if new and folder.exists() and (not folder.is_dir() or set(folder.iterdir()) - begun):
        raise UsageError(
            f"{folder} is not a collection, and not empty",
            "Name an empty or a new folder, or one that was crawled into.",
        )
    stored = config.load(path) if path.exists() else Settings()
    settings = config.override(config.load(plea.config) if plea.config else stored, plea.changes)
    settings = _with_contact(settings, plea.user_settings)
    seeds = read_seeds((*plea.seeds, *demo_seeds), plea.seed_files, settings.seeder.session_ids)
    for complaint in seeds.complaints:
        say(f"skipped: {complaint}")
    if new and not seeds.urls:
        raise UsageError(
            f"no usable seed for {folder}",
            "Give --seed URL or --seeds FILE, or try the demonstration Web with --demo.",
        )
    if not settings.seeder.domains:
        domains = tuple(dict.fromkeys(urls.registrable(urls.host(seed)) for seed in seeds.urls))
        settings = replace(settings, seeder=replace(settings.seeder, domains=domains))
    changed = config.differences(stored, settings)
    if not new:
        _refuse_fixed(changed, folder)
        for line in changed:
            say(f"changed: {line}")
    effective = settings if demo is None else _with_demo(settings, demo)
    _check_contact(effective)
    toml = config.dump(settings).encode() if changed or not path.exists() else None
    return Prepared(effective, seeds, toml)


def _refuse_fixed(changed: list[str], folder: Path) -> None:
    for line in changed:
        if line.startswith(FIXED):
            raise UsageError(
                f"{line}: cannot change in a collection that has pages, their URLs were made with it",
                f"Undo the change in {folder / SETTINGS}, or crawl into a new folder.",
            )


def _with_contact(settings: Settings, user: Path | None) -> Settings:
    if settings.harvester.contact or user is None or not user.exists():
        return settings
    contact = config.load(user).harvester.contact
    return replace(settings, harvester=replace(settings.harvester, contact=contact))


def _with_demo(settings: Settings, demo: Settings) -> Settings:
    """The demonstration Web is ours: its addresses, and small waits unless the user has set others."""
    usual = HarvesterSettings()
    own = {
        name: getattr(demo.harvester, name)
        for name in ("wait", "wait_large", "address_wait")
        if getattr(settings.harvester, name) == getattr(usual, name)
    }
    harvester = replace(settings.harvester, resolve=demo.harvester.resolve, allow_private=True, **own)
    return replace(settings, harvester=harvester)


DEMO_WAITS: Final = {"wait": Duration(0.02), "wait_large": Duration(0.005), "address_wait": Duration(0.005)}


def demo_settings(resolve: dict[str, str], domains: tuple[str, ...]) -> Settings:
    """Names below its domains that it does not have lead nowhere: no resolver is asked about them."""
    nowhere = {f"*.{domain}": "none" for domain in domains}
    harvester = HarvesterSettings(resolve={**resolve, **nowhere}, allow_private=True, **DEMO_WAITS)  # type: ignore[arg-type]
    return Settings(harvester=harvester)


def _check_contact(settings: Settings) -> None:
    if settings.harvester.contact or only_loopback(settings):
        return
    raise UsageError(
        "a crawl beyond this machine needs a contact: whoever runs a site must be able to reach you",
        'Give --contact you@example.org, or set harvester.contact = "you@example.org" in crawl.toml,'
        " or once for all crawls in ~/.config/gossamer/crawl.toml.",
    )


def only_loopback(settings: Settings) -> bool:
    """Can nothing in the scope lead off this machine?"""
    resolve = settings.harvester.resolve
    if not all(_is_loopback(target) for target in resolve.values()):
        return False
    return "*" in resolve or all(
        f"*.{domain}" in resolve or domain == "localhost" or _is_loopback(domain) for domain in settings.seeder.domains
    )


def _is_loopback(text: str) -> bool:
    """An address, with or without a port; "none" leads nowhere."""
    if text == "none":
        return True
    host = text.rpartition(":")[0] if text.count(":") == 1 or "]:" in text else text
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
