"""Which URLs a crawl accepts and in which form, by URL and settings alone: what needs no desk."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from gossamer.urls.canonical import Joiner, canonical
from gossamer.urls.classify import Classes, UrlClass
from gossamer.urls.names import is_address, without_www
from gossamer.urls.patterns import Found, Rewrites, found_in

if TYPE_CHECKING:
    from gossamer.config.settings import SeederSettings


@cache
def _usual() -> SeederSettings:
    """The default settings, for whoever has none: tests, the simulator. Importing `urls` does not import them."""
    from gossamer.config.settings import SeederSettings

    return SeederSettings()


@cache
def _usual_classes() -> Classes:
    return Classes.by(_usual())


def classify(url: str) -> UrlClass:
    """By the default lists of extensions. A crawl asks `scope.classes.of`."""
    return _usual_classes().of(url)


@dataclass(frozen=True, slots=True)
class Scope:
    """The settings of the seeder, ready for use.

    Invariants: `scope_canonical_is_idempotent`, rewriting included; `scope_joiner_agrees_with_scope_canonical`.
    """

    domains: tuple[str, ...]
    """ "example.org" accepts itself and every name below it; "*" accepts all; an address accepts itself only."""
    url_length: int = 2_000
    """Bytes of the canonical form."""
    session_ids: tuple[str, ...] = field(default_factory=lambda: _usual().session_ids)
    www: bool = True
    """`www.` is left out of hosts."""
    accept: tuple[str, ...] = ()
    reject: tuple[str, ...] = field(default_factory=lambda: _usual().reject)
    transform: tuple[str, ...] = ()
    classes: Classes = field(default_factory=_usual_classes)
    rejects: Found = field(init=False, repr=False, compare=False)
    """Whether the patterns keep a canonical URL out: one rejects it, or none of those that accept is in it."""
    _rewrite: Rewrites | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "rejects", _rejecting(self.accept, self.reject))
        object.__setattr__(self, "_rewrite", Rewrites(self.transform, self._plain) if self.transform else None)

    @classmethod
    def of(cls, settings: SeederSettings) -> Scope:
        return cls(
            settings.domains, settings.url_length, settings.session_ids, settings.www, settings.accept,
            settings.reject, settings.transform, Classes.by(settings),
        )  # fmt: skip

    def canonical(self, url: str, base: str | None = None) -> str | None:
        """The form that stands for the page in this crawl; None if there is none."""
        href = self._plain(url, base)
        return href if href is None or self._rewrite is None else self._rewrite(href)

    def _plain(self, url: str, base: str | None = None) -> str | None:
        return canonical(url, base, self.session_ids, self.www)

    def joiner(self, base: str) -> Callable[[str], str | None]:
        """`canonical` for the many links of one page; `base` in canonical form, with or without `www.`."""
        join = Joiner(base, self.session_ids, self.www)
        rewrite = self._rewrite
        if rewrite is None:
            return join

        def joined(url: str) -> str | None:
            href = join(url)
            return None if href is None else rewrite(href)

        return joined

    def accepts(self, host: str) -> bool:
        """`host` as in a canonical URL."""
        return _accepts(self.domains, self.www, host)


def _rejecting(accept: tuple[str, ...], reject: tuple[str, ...]) -> Found:
    accepted, rejected = found_in(accept), found_in(reject)
    if not accept:
        return rejected
    return lambda url: rejected(url) or not accepted(url)


@lru_cache(maxsize=1 << 16)
def _accepts(domains: tuple[str, ...], www: bool, host: str) -> bool:
    if "*" in domains or host in domains:
        return True
    if is_address(host):
        return False
    return any(_covers(domain, host) or (www and without_www(domain) == host) for domain in map(_suffix, domains))


def _covers(domain: str, host: str) -> bool:
    return bool(domain) and not is_address(domain) and (host == domain or host.endswith(f".{domain}"))


@lru_cache(maxsize=1 << 10)
def _suffix(domain: str) -> str:
    """As in a canonical URL: people write ".cl", "Example.org" and "bücher.example" too. "": nothing is below it."""
    name = domain.strip().removeprefix(".")
    href = canonical(f"http://{name}/") if name and not is_address(name) else None
    return name if href is None else href[7:-1]
