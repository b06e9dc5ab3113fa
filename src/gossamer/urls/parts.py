"""The parts of a canonical URL by plain string operations, and the fingerprint that stands for it.

All functions take URLs in canonical form: lower-case scheme and host, no user information, a path at least "/".
"""

from __future__ import annotations

from dataclasses import dataclass

from xxhash import xxh3_64_intdigest


@dataclass(frozen=True, slots=True)
class Parts:
    scheme: str
    host: str
    """As written in the URL: an IPv6 address keeps its brackets."""
    port: int
    path: str
    """Path and query; begins with "/"."""


def split(url: str) -> Parts:
    scheme, _, rest = url.partition("://")
    authority, _, path = rest.partition("/")
    name, port = _name_and_port(authority)
    return Parts(scheme, name, port or (443 if scheme == "https" else 80), "/" + path)


def origin(url: str) -> str:
    """Scheme, host and port, the port always written: "https://example.org:443"."""
    scheme, _, rest = url.partition("://")
    authority = rest[: rest.index("/")]
    if _name_and_port(authority)[1]:
        return f"{scheme}://{authority}"
    return f"{scheme}://{authority}:{443 if scheme == 'https' else 80}"


def host(url: str) -> str:
    start = url.index("://") + 3
    return _name_and_port(url[start : url.index("/", start)])[0]


def port_text(url: str) -> str:
    """The port as it stands in the URL, else that of its scheme."""
    start = url.index("://") + 3
    authority = url[start : url.index("/", start)]
    if ":" not in authority or authority[-1] == "]":
        return "443" if url.startswith("https:") else "80"
    return authority.rpartition(":")[2]


def folder(url: str) -> str:
    """Where the siblings of a page are: of /a/b and of /a/b/ that is /a/."""
    path = url.partition("?")[0]
    root = path.index("/", 8)
    return path[: max(root, path.rfind("/", root, len(path) - 1)) + 1]


def _name_and_port(authority: str) -> tuple[str, int]:
    """Port 0: none written. The colons of an IPv6 address stand inside its brackets."""
    if ":" not in authority or authority[-1] == "]":
        return authority, 0
    name, _, port = authority.rpartition(":")
    return name, int(port)


def site_name(host: str) -> str:
    """The site that a host of a canonical URL belongs to: each is one. A `www.` that means nothing is gone already."""
    return host


def fingerprint(text: str | bytes, seed: int) -> int:
    """64 bits (xxh3) under the collection's own random seed, so that nobody can prepare URLs that collide."""
    return xxh3_64_intdigest(text.encode() if isinstance(text, str) else text, seed)
