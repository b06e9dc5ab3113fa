"""The parts of a canonical URL, by plain string operations, and its fingerprint.

All functions take URLs in canonical form: scheme and host in lower case, no user information, a path of at least "/".
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
    name, port = _host_and_port(url)
    scheme = url[: url.index(":")]
    return Parts(scheme, name, int(port), url[url.index("/", len(scheme) + 3) :])


def origin(url: str) -> str:
    """Scheme, host and port, the port always written: "https://example.org:443"."""
    name, port = _host_and_port(url)
    return f"{url[: url.index(':')]}://{name}:{port}"


def host(url: str) -> str:
    return _host_and_port(url)[0]


def port_text(url: str) -> str:
    """The port as written in the URL, or the default port of its scheme."""
    return _host_and_port(url)[1]


def _host_and_port(url: str) -> tuple[str, str]:
    """The colons of an IPv6 address are inside its brackets."""
    start = url.index("://") + 3
    authority = url[start : url.index("/", start)]
    if ":" not in authority or authority[-1] == "]":
        return authority, "443" if url.startswith("https:") else "80"
    name, _, port = authority.rpartition(":")
    return name, port


def folder(url: str) -> str:
    """The URL of the folder that contains a page: /a/ for /a/b and for /a/b/."""
    path = url.partition("?")[0]
    root = path.index("/", 8)
    return path[: max(root, path.rfind("/", root, len(path) - 1)) + 1]


def fingerprint(text: str | bytes, seed: int) -> int:
    """A 64-bit hash (xxh3) with the random seed of the collection, so that nobody can prepare URLs that collide."""
    return xxh3_64_intdigest(text.encode() if isinstance(text, str) else text, seed)
