"""Which URLs a crawl accepts and in which form, by URL and settings alone: what needs no desk."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Final

from gossamer.urls.canonical import Joiner, canonical
from gossamer.urls.classify import Classes, UrlClass
from gossamer.urls.mazes import repeating
from gossamer.urls.names import is_address, without_www
from gossamer.urls.parts import host, port_text
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


_MOST_ROOTS: Final = 1 << 16


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
    ports: tuple[str, ...] = field(default_factory=lambda: _usual().ports)
    """Numbers, or "*"."""
    repeats: int = 2
    """How often a URL may say the same thing; 0: as often as it likes."""
    rejects: Found = field(init=False, repr=False, compare=False)
    """Whether the patterns keep a canonical URL out: one rejects it, or none of those that accept is in it."""
    entraps: Found = field(init=False, repr=False, compare=False)
    """Whether a canonical URL says the same thing too often."""
    _rewrite: Rewrites | None = field(init=False, repr=False, compare=False)
    _admitted: dict[str, bool] = field(init=False, repr=False, compare=False, default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "rejects", _rejecting(self.accept, self.reject))
        object.__setattr__(self, "entraps", repeating(self.repeats))
        object.__setattr__(self, "_rewrite", Rewrites(self.transform, self._plain) if self.transform else None)

    @classmethod
    def of(cls, settings: SeederSettings) -> Scope:
        return cls(
            settings.domains,
            settings.url_length,
            settings.session_ids,
            settings.www,
            settings.accept,
            settings.reject,
            settings.transform,
            Classes.by(settings),
            settings.ports,
            settings.repeats,
        )

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

    def accepts_port(self, url: str) -> bool:
        """Whether the server behind a canonical URL may be asked at its port. Nobody listens at port 0."""
        port = port_text(url)
        return port in self.ports or ("*" in self.ports and port != "0")

    def shuns(self, url: str) -> bool:
        """Whether a pattern rejects a canonical URL, whatever is accepted: for what is no page."""
        return found_in(self.reject)(url)

    def admits(self, url: str) -> bool:
        """Host and port of a canonical URL. Remembered: most links of a crawl lead to hosts met before."""
        root = url[: url.index("/", 8) + 1]
        known = self._admitted.get(root)
        if known is None:
            if len(self._admitted) >= _MOST_ROOTS:
                self._admitted.clear()
            known = self._admitted[root] = self.accepts(host(root)) and self.accepts_port(root)
        return known


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
