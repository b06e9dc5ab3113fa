"""The scope of a crawl: which URLs it accepts and in which form. It depends on URL and settings alone."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Final

from gossamer.urls.canonical import Joiner, canonical
from gossamer.urls.classify import Classes, UrlClass
from gossamer.urls.names import LONGEST_HOST, is_address, without_www
from gossamer.urls.parts import host, port_text
from gossamer.urls.patterns import Found, Rewrites, found_among, found_in, repeating, repeating_among
from gossamer.urls.queries import UTF_8
from gossamer.urls.sessions import sessions

if TYPE_CHECKING:
    from gossamer.config.settings import SeederSettings


@cache
def _usual() -> SeederSettings:
    """The default settings, for callers that have none: tests, the simulator. They are imported on first use."""
    from gossamer.config.settings import SeederSettings

    return SeederSettings()


@cache
def _usual_classes() -> Classes:
    return Classes.by(_usual())


def classify(url: str) -> UrlClass:
    """The class of a URL by the default lists of extensions. A crawl uses `scope.classes.of`."""
    return _usual_classes().of(url)


_MOST_ROOTS: Final = 1 << 16
_LONGEST_ROOT: Final = len("https://:65535/") + LONGEST_HOST
Join = Callable[[str], str | None]
"""Gives the canonical form of a reference; None if there is none."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The settings of the seeder, prepared for fast checks.

    Invariants: `scope_canonical_is_idempotent`, including rewriting; `scope_joiner_agrees_with_scope_canonical`;
    `rejected_agrees_with_rejects`.
    """

    domains: tuple[str, ...]
    """ "example.org" accepts itself and every name below it; "*" accepts all; an address accepts only itself."""
    url_length: int = 2_000
    """Maximum bytes of the canonical form."""
    session_ids: tuple[str, ...] = field(default_factory=lambda: _usual().session_ids)
    www: bool = True
    """Whether `www.` is removed from hosts."""
    accept: tuple[str, ...] = ()
    reject: tuple[str, ...] = field(default_factory=lambda: _usual().reject)
    transform: tuple[str, ...] = ()
    classes: Classes = field(default_factory=_usual_classes)
    ports: tuple[str, ...] = field(default_factory=lambda: _usual().ports)
    """Numbers, or "*"."""
    repeats: int = 2
    """How often a URL may repeat a path segment or parameter; 0 disables the check."""
    form: int = field(default_factory=lambda: _usual().url_form)
    """Number of the canonical form: see `canonical.py`."""
    rejects: Found = field(init=False, repr=False, compare=False)
    """Whether the patterns exclude a canonical URL: a pattern of `reject` matches, or no pattern of `accept` does."""
    entraps: Found = field(init=False, repr=False, compare=False)
    """Whether a canonical URL looks like a trap: it repeats something too often."""
    _rewrite: Rewrites | None = field(init=False, repr=False, compare=False)
    _admitted: dict[str, bool] = field(init=False, repr=False, compare=False, default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "rejects", _rejecting(self.accept, self.reject))
        object.__setattr__(self, "entraps", repeating(self.repeats))
        object.__setattr__(self, "_rewrite", Rewrites(self.transform, self._plain) if self.transform else None)

    @classmethod
    def of(cls, settings: SeederSettings) -> Scope:
        """The scope of a crawl with these settings."""
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
            settings.url_form,
        )

    def canonical(self, url: str, base: str | None = None) -> str | None:
        """The canonical form of a URL in this crawl; None if there is none."""
        href = self._plain(url, base)
        return href if href is None or self._rewrite is None else self._rewrite(href)

    def _plain(self, url: str, base: str | None = None) -> str | None:
        return canonical(url, base, self.session_ids, self.www, self.form)

    def joiner(self, base: str, charset: str = "") -> Join:
        """`canonical` for the many links of one page; `base` in canonical form, with or without `www.`. `charset`: the
        codec of the page, in which browsers encode the queries of its links."""
        made = Joiner(base, self.session_ids, self.www, self.form, "" if charset in UTF_8 else charset)
        join = made.__call__  # to call the method takes 0.1 µs less than to call the object
        rewrite = self._rewrite
        if rewrite is None:
            return join

        def joined(url: str) -> str | None:
            href = join(url)
            return None if href is None else rewrite(href)

        return joined

    def proving(self, join: Join, own: str, proven: int) -> Join:
        """`join`, which also removes the session parameters that are proven at the site of the page `own`, whatever
        their values. `proven`: a bit for each of `session_ids` (`desk/proven.py`)."""
        if not proven:
            return join
        named = sessions(tuple(name for i, name in enumerate(self.session_ids) if proven >> i & 1))
        site = host(self.canonical(own) or own)

        def joined(url: str) -> str | None:
            href = join(url)
            if href is None or not named.occur(href) or host(href) != site:
                return href
            return self.canonical(named.remove_from_query(href))

        return joined

    def accepts(self, host: str) -> bool:
        """Whether the domains accept a host, given as in a canonical URL."""
        accepts = _accepts if len(host) <= LONGEST_HOST else _accepts.__wrapped__
        return accepts(self.domains, self.www, host)

    def accepts_port(self, url: str) -> bool:
        """Whether the port of a canonical URL is accepted. Port 0 never is: no server can listen on it."""
        port = port_text(url)
        return port in self.ports or ("*" in self.ports and port != "0")

    def shuns(self, url: str) -> bool:
        """Whether a pattern of `reject` matches a canonical URL; `accept` is ignored. For URLs that are not pages."""
        return found_in(self.reject)(url)

    def rejected(self, urls: Collection[str]) -> set[str]:
        """The URLs, of several in canonical form, that the patterns exclude: `rejects` for all links of a page."""
        rejected = found_among(self.reject)(urls) if self.reject else set[str]()
        return rejected.union(set(urls) - found_among(self.accept)(urls)) if self.accept else rejected

    def entrapped(self, urls: Collection[str]) -> set[str]:
        """The URLs, of several in canonical form, that look like traps: `entraps` for all links of a page."""
        return repeating_among(self.repeats)(urls)

    def admits(self, url: str) -> bool:
        """Whether host and port of a canonical URL are accepted. Cached: most links lead to hosts seen before."""
        root = url[: url.index("/", 8) + 1]
        known = self._admitted.get(root)
        if known is None:
            known = self.accepts(host(root)) and self.accepts_port(root)
            if len(root) <= _LONGEST_ROOT:
                if len(self._admitted) >= _MOST_ROOTS:
                    self._admitted.clear()
                self._admitted[root] = known
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
    """A domain of the settings as in a canonical URL: people write ".cl", "Example.org" and "bücher.example" too. ""
    accepts nothing."""
    name = domain.strip().removeprefix(".")
    href = canonical(f"http://{name}/") if name and not is_address(name) else None
    return name if href is None else href[7:-1]
