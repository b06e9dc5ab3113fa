"""Generated robots.txt files, similar to real ones, for `bench.robots` and the comparison with protego.

Shares are those of the HTTP Archive (2025): 85 % of sites have a file, 13 % answer 404, the others fail or refuse;
1.8 % of the files are empty, 0.1 % larger than 500 KB. Their contents are what content management systems write and
what people add to it. The frequency of each, the amount added and the length of large files are assumptions, not
counts.
"""

from __future__ import annotations

import random
from typing import Final

FOUND: Final = 0.85
EMPTY: Final = 0.018
HUGE: Final = 0.001
LARGE: Final = 0.01
"""Share of files with hundreds or thousands of lines: shops and old, large sites."""
AS_DELIVERED: Final = 0.45


def _words(text: str) -> list[str]:
    return text.split()


def _group(allowed: str, forbidden: str) -> str:
    return "".join(
        [
            "User-agent: *\n",
            *(f"Allow: {path}\n" for path in _words(allowed)),
            *(f"Disallow: {path}\n" for path in _words(forbidden)),
        ]
    )


_WORDPRESS: Final = "User-agent: *\nDisallow: /wp-admin/\nAllow: /wp-admin/admin-ajax.php\n"
_SITEMAP: Final = "\nSitemap: https://example.org/sitemap.xml\n"
_JOOMLA: Final = _group(
    "",
    "/administrator/ /api/ /bin/ /cache/ /cli/ /components/ /includes/ /installation/ /language/ /layouts/ "
    "/libraries/ /logs/ /modules/ /plugins/ /tmp/",
)
_DRUPAL: Final = _group(
    "/core/*.css$ /core/*.js$ /core/*.png",
    "/core/ /profiles/ /README.md /web.config /admin/ /comment/reply/ /filter/tips /node/add/ /search/ /user/register "
    "/user/password /user/login /user/logout /index.php/admin/",
)
_SHOP: Final = _group(
    "",
    "/a/downloads/-/* /admin /cart /orders /checkouts/ /checkout /carts /account /collections/*sort_by* "
    "/*/collections/*sort_by* /collections/*+* /collections/*%2B* /collections/*%2b* /*/collections/*+* /blogs/*+* "
    "/blogs/*%2B* /*?*oseid=* /*preview_theme_id* /*preview_script_id* /policies/ /search /*/*?*ls=*&ls=* "
    "/*/*?*ls%3D*%3Fls%3D* /apple-app-site-association /.well-known/shopify/monorail",
) + (
    "\nUser-agent: adsbot-google\nDisallow: /checkouts/\nDisallow: /cart\n\nUser-agent: Nutch\nDisallow: /\n"
    "\nUser-agent: AhrefsBot\nCrawl-delay: 10\nDisallow: /admin\n"
)
_SQUARE: Final = _group(
    "/api/ui-extensions/",
    "/config /search /account$ /account/ /api/ /static/ /*?author=* /*&author=* /*?tag=* /*?month=* /*?view=* "
    "/*?format=json",
)
_WIX: Final = (
    "User-agent: *\nAllow: /\nDisallow: *?lightbox=\n\nUser-agent: PetalBot\nDisallow: /\n"
    "\nUser-agent: dotbot\nCrawl-delay: 10\n" + _SITEMAP
)
SYSTEMS: Final = (
    (40, _WORDPRESS),
    (8, _WORDPRESS + _SITEMAP),
    (6, "# YOAST\nUser-agent: *\nDisallow:\n" + _SITEMAP),
    (10, "User-agent: *\nAllow: /\n"),
    (10, "User-agent: *\nDisallow:\n"),
    (3, "User-agent: *\nDisallow: /\n"),
    (4, _JOOMLA),
    (4, _DRUPAL),
    (7, _SHOP),
    (4, _SQUARE),
    (4, _WIX),
)
"""Weight and content: the file that a system writes by default."""

_ROBOTS: Final = (
    "GPTBot",
    "CCBot",
    "Google-Extended",
    "ClaudeBot",
    "Bytespider",
    "AhrefsBot",
    "SemrushBot",
    "MJ12bot",
    "Googlebot",
    "bingbot",
    "Baiduspider",
    "YandexBot",
    "PetalBot",
    "dotbot",
    "Amazonbot",
    "facebookexternalhit",
    "gossamer",
)
_WORDS: Final = _words(
    "admin private tmp cache search cart login user account checkout cgi-bin includes scripts print feed tag author "
    "page archive api ajax news blog product category filter sort order session download media assets images "
    "wp-content preview draft test beta old backup stats mail forum profile members help about press events shop item"
)
_PARAMETERS: Final = _words("sort order page q s filter sid PHPSESSID ref utm_source lang print replytocom add-to-cart")


def made(dice: random.Random) -> bytes | None:
    """The robots.txt of a random site; None if the site has no readable file."""
    if dice.random() >= FOUND:
        return None
    roll = dice.random()
    if roll < EMPTY:
        return b""
    if roll < EMPTY + HUGE:
        return long_file(dice, 520_000)
    if roll < EMPTY + HUGE + LARGE:
        return long_file(dice, round(4_000 * 20 ** dice.random()))
    base = dice.choices([text for _, text in SYSTEMS], [share for share, _ in SYSTEMS])[0]
    text = base if dice.random() < AS_DELIVERED else _adapted(dice, base)
    if dice.random() < 0.02:
        text = "\ufeff" + text
    return text.replace("\n", "\r\n").encode() if dice.random() < 0.25 else text.encode()


def _adapted(dice: random.Random, base: str) -> str:
    """What people add: a group for a robot, their own rules, a sitemap, preferences."""
    lines = base.rstrip("\n").split("\n") + [rule(dice) for _ in range(1 + int(dice.expovariate(1 / 4)))]
    if dice.random() < 0.12:
        lines.insert(1 if len(lines) > 1 else 0, f"Crawl-delay: {dice.choice((1, 2, 5, 10, 20, 60))}")
    for _ in range(int(dice.expovariate(1 / 0.7))):
        lines += ["", f"User-agent: {dice.choice(_ROBOTS)}", dice.choice(["Disallow: /", "Disallow: /", rule(dice)])]
    if dice.random() < 0.03:
        lines.insert(1, "Content-Signal: search=yes, ai-train=no")
    if dice.random() < 0.5:
        lines += ["", f"Sitemap: https://{dice.choice(_WORDS)}.example/sitemap.xml"]
    return "\n".join(lines) + "\n"


def rule(dice: random.Random) -> str:
    return f"{'Allow' if dice.random() < 0.15 else 'Disallow'}: {path(dice)}"


def path(dice: random.Random) -> str:
    """A random path of a rule, with or without wildcards."""
    words = [dice.choice(_WORDS) + (str(dice.randrange(10_000)) if dice.random() < 0.2 else "") for _ in range(3)]
    name = dice.choice(_PARAMETERS)
    return dice.choices(
        (
            f"/{words[0]}/",
            f"/{words[0]}",
            f"/{words[0]}/{words[1]}/",
            f"/{words[0]}/{words[1]}/{words[2]}.html",
            f"/*?{name}=",
            f"/*&{name}=",
            f"/*?*{name}=*",
            f"/*/{words[0]}/",
            f"/*.{dice.choice(('pdf', 'php', 'zip'))}$",
            f"*/{words[0]}",
            f"/{words[0]}/*/{words[1]}$",
            f"/{words[0]}%20{words[1]}",
            f"/{words[0]}?{name}",
        ),
        (20, 12, 14, 10, 6, 3, 4, 3, 5, 2, 2, 1, 2),
    )[0]


def long_file(dice: random.Random, size: int) -> bytes:
    """A file of at least this many bytes."""
    lines, length = ["User-agent: *"], 0
    while length < size:
        lines.append(rule(dice))
        length += len(lines[-1]) + 1
    return ("\n".join(lines) + "\n").encode()
