"""An address with or without a port, as people write it: "127.0.0.1:8080", "[::1]:8080", "127.0.0.1", "::1"."""

from __future__ import annotations

import ipaddress


def endpoint(text: str) -> tuple[str, int] | None:
    """Address (without brackets) and port (0 if there is none); None if the text is not an address."""
    host, port = text, "0"
    if text.count(":") == 1 or "]:" in text:
        host, _, port = text.rpartition(":")
    if host[:1] == "[" and host[-1:] == "]":
        host = host[1:-1]
        if ":" not in host:
            return None
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return None
    if not (port.isascii() and port.isdecimal()) or int(port) > 65_535:
        return None
    return str(address), int(port)
