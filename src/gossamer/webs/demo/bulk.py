"""Pages for benchmarks: all of the same size and number of links, with text from a pool and links of their own."""

from __future__ import annotations

from typing import Final

from gossamer.webs.demo.dice import Dice
from gossamer.webs.demo.pieces import Body, BodyPiece
from gossamer.webs.demo.places import Places
from gossamer.webs.demo.site import Site
from gossamer.webs.demo.words import sections

POOL: Final = 64
CHILDREN: Final = 8
"""Links that make every page reachable from its home page: n links to 8n+1 .. 8n+8."""
_END: Final = b"</body></html>\n"


def bulk_target(number: int) -> str:
    return f"/p/{number}.html" if number else "/"


def bulk_number(site: Site, target: str) -> int | None:
    """The number of the page behind a path; None: there is none."""
    if target == "/":
        return 0
    digits = target[3:-5]
    if target[:3] != "/p/" or target[-5:] != ".html" or not digits.isdecimal() or digits[0] == "0":
        return None
    return int(digits) if int(digits) < site.pages else None


class BulkPages:
    def __init__(self, web: Places) -> None:
        self.web = web
        self.homes = [s.home for s in web.all_sites]
        most = max(s.pages for s in web.all_sites)
        self.targets = [bulk_target(n) for n in range(most)]
        self.texts = [_text(web, n) for n in range(POOL)]

    def body(self, site: Site, number: int) -> Body:
        return Body.of(self.texts[(number * 31 + site.number * 17) % POOL], BodyPiece.make(self._links(site, number)))

    def _links(self, site: Site, number: int) -> bytes:
        """Children, then pages of the site at equal steps from a start of the page's own; one link in ten leads to
        another site."""
        n, count = site.pages, self.web.links
        urls = self.targets[min(n, CHILDREN * number + 1) : min(n, CHILDREN * number + 1 + CHILDREN)]
        others = min(count // 10, len(self.homes) - 1)
        urls += [self.homes[(site.number + 1 + k) % len(self.homes)] for k in range(others)]
        step = max(1, n // (count + 1))
        start = (number * 2_654_435_761 + site.number * 40_503) % n
        end = start + min(n, max(0, count - len(urls))) * step
        around = -(-(n - start) // step) * step + start - n
        urls += self.targets[start : min(n, end) : step] + self.targets[around : max(0, end - n) : step]
        rows = ">entry</a>\n<li><a href=".join(urls)
        return f"<p>{site.host} {number}</p><ul>\n<li><a href={rows}>entry</a></ul>\n".encode() + _END


def _text(web: Places, number: int) -> BodyPiece:
    dice, pool = Dice(web.seed, "bulk", number), sections(web.seed, "en", "utf-8")
    text = f"<!DOCTYPE html>\n<html><head><title>Text {number}</title></head><body>\n".encode()
    wanted = web.size - web.links * 44
    while len(text) < wanted:
        text += dice.pick(pool).plain
    return BodyPiece.make(text[: text.rindex(b" ", 0, max(wanted, 200))] + b"</p>\n")
