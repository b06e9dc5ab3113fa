"""A made site with every fault that `gossamer audit` looks for, several of each, and beside them what looks like one.

It is served over real sockets, by http and https on the same port. `expected` says what each check must find.
"""

from __future__ import annotations

import random
import socket
import socketserver
import ssl
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from gossamer.webs.demo.certificates import make_certificate
from tests.support.changing import SETTINGS
from tests.support.crawling import LIGHT

HOST: Final = "site.example"
ROOT: Final = f"https://{HOST}/"
DOMAINS: Final = (HOST, *(f"{name}.example" for name in ("soft", "bad1", "bad2", "broken", "lost")))
SLOW: Final = 2.3
_RNG: Final = random.Random(1)
_WORDS: Final = ["".join(_RNG.choices("abcdefghijklmnoprstuvz", k=_RNG.randint(4, 9))) for _ in range(3_000)]
TWICE: Final = (1, 2)


class Answer(NamedTuple):
    """What the server says."""

    body: bytes = b""
    status: str = "200 OK"
    kind: str = "text/html; charset=utf-8"
    more: str = ""
    """Another header field."""
    delay: float = 0.0

    def raw(self) -> bytes:
        more = f"{self.more}\r\n" if self.more else ""
        head = f"HTTP/1.1 {self.status}\r\nContent-Type: {self.kind}\r\n{more}Content-Length: {len(self.body)}\r\n\r\n"
        return head.encode() + self.body


_EMPTY: Final = Answer()


def words(name: str, number: int = 80) -> str:
    """A text that no other page has."""
    return " ".join(random.Random(name).choices(_WORDS, k=number))


@dataclass
class MadeSite:
    """The site, and what is wrong with it."""

    answers: dict[str, Answer] = field(default_factory=dict)
    expected: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    pairs: defaultdict[str, list[set[str]]] = field(default_factory=lambda: defaultdict(list))
    """Of each check: pages of which exactly one must be found."""
    soft: set[str] = field(default_factory=set)
    """Pages that do not exist, and are answered as if they did."""
    home: list[str] = field(default_factory=list)
    sitemap: list[str] = field(default_factory=list)
    sorry: Answer = _EMPTY
    """What the soft site says instead of 404."""
    requests: list[str] = field(default_factory=list)
    """URLs that were requested, in order."""
    port: int = 0
    trusted: Path = Path()

    def page(
        self,
        name: str,
        *checks: str,
        title: str | None = None,
        description: str | None = None,
        text: str | None = None,
        headings: int = 1,
        head: str = "",
        links: Sequence[str] = (),
        linked: bool = True,
        answer: Answer = _EMPTY,
    ) -> str:
        """A page without a fault but the given ones. `linked`: from the home page."""
        url = name if "://" in name else f"{ROOT}{name}"
        title = f"Title of {name}"[:60] if title is None else title
        description = f"About {name}, and nothing else" if description is None else description
        said = f"<title>{title}</title>" if title else ""
        said += f'<meta name="description" content="{description}">' if description else ""
        anchors = " ".join(f'<a href="{link}">to {link}</a>' for link in links)
        body = "".join(f"<h1>Heading {n} of {name}</h1>" for n in range(headings))
        page = f"<html><head>{said}{head}</head><body>{body}<p>{text or words(name)}</p>{anchors}</body></html>"
        self.answers[url] = answer._replace(body=page.encode("latin-1" if "8859" in answer.kind else "utf-8"))
        if linked:
            self.home.append(url)
        for check in checks:
            self.expected[check].add(url)
        return url

    def moved(self, name: str, to: str, *checks: str, linked: bool = True) -> str:
        url = f"{ROOT}{name}"
        self.answers[url] = Answer(b"", "301 Moved Permanently", more=f"Location: {to}")
        if linked:
            self.home.append(url)
            self.expected["redirected-link"].add(url)
        for check in checks:
            self.expected[check].add(url)
        return url

    def missing(self, name: str, *checks: str, linked: bool = False) -> str:
        url = f"{ROOT}{name}"
        if linked:
            self.home.append(url)
        for check in checks:
            self.expected[check].add(url)
        return url

    def settings(self) -> list[str]:
        none = ",".join(f'"{www}{name}.example"="none"' for name in ("lost", "nowhere") for www in ("", "www."))
        changes = [
            *(each for each in SETTINGS if not each.startswith(("seeder.sitemaps", "manager.min_period"))),
            *LIGHT,
            f'harvester.resolve={{{none},"*.example"="127.0.0.1:{self.port}"}}',
            f'harvester.trusted="{self.trusted}"',
            f"seeder.domains={list(DOMAINS)}",
        ]
        return [word for each in changes for word in ("--set", each)]


def made() -> MadeSite:
    site = MadeSite()
    _texts(site)
    _links(site)
    _versions(site)
    _listed(site)
    _others(site)
    lines = "".join(f"<url><loc>{url}</loc><lastmod>2025-01-01</lastmod></url>" for url in site.sitemap)
    site.answers[f"{ROOT}sitemap.xml"] = Answer(f"<urlset>{lines}</urlset>".encode(), kind="application/xml")
    robots = f"User-agent: *\nDisallow: /private/\nSitemap: {ROOT}sitemap.xml\n".encode()
    for scheme in ("http", "https"):
        site.answers[f"{scheme}://{HOST}/robots.txt"] = Answer(robots, kind="text/plain")
    nofollow = f'<a rel="nofollow" href="{ROOT}private/nofollow">decoy</a>'
    site.page("", title="Home", links=list(site.home), text=words("home", 400) + nofollow, linked=False)
    return site


def _texts(site: MadeSite) -> None:
    """Faults of single pages."""
    for n in TWICE:
        site.page(f"untitled{n}", "title-missing", title="")
        site.page(f"long-title{n}", "title-long", title=f"{n}" * 66)
        site.page(f"just{n}", title=f"{n}" * 65, description=f"{n}" * 160)
        site.page(f"silent{n}", "description-missing", description="")
        site.page(f"long-description{n}", "description-long", description=f"{n}" * 161)
        site.page(f"headless{n}", "heading-missing", headings=0)
        site.page(f"heads{n}", "heading-several", headings=1 + n)
        site.page(f"latin{n}", "charset", answer=Answer(kind="text/html; charset=iso-8859-1"))
        site.page(f"slow{n}", "slow", answer=Answer(delay=SLOW))
        site.page(f"heavy{n}", "heavy", head=f"<!--{'x' * 350_000}-->")
        site.page(f"cut{n}", "heavy", "cut", text=words(f"cut{n}"), head="", links=())
        cut = site.answers[f"{ROOT}cut{n}"]
        site.answers[f"{ROOT}cut{n}"] = cut._replace(body=cut.body + b"<!--" + b"x" * 450_000)
        script = f"<script>{'var x = 1;' * 100}</script>"
        site.page(f"app{n}", "only-javascript", "heading-missing", text=" ", head=script, headings=0)
    for name in ("shared1", "shared2", "shared3"):
        first = name == "shared1"
        checks = () if first else ("title-shared", "description-shared")
        site.page(name, *checks, title="Welcome", description="The same words")
    site.page("noindex-untitled", title="", description="", head='<meta name="robots" content="noindex">')
    site.answers[f"{ROOT}text"] = Answer(words("plain text").encode(), kind="text/plain")
    site.home.append(f"{ROOT}text")
    for n in TWICE:
        for check, names in (("duplicate", (f"copy{n}a", f"copy{n}b")), ("parameter", (f"p{n}?x=1", f"p{n}?x=2"))):
            same = {"title": f"Copy {check} {n}", "description": f"Copy {n} of {check}", "text": words(f"{check}{n}")}
            pair = {site.page(name, headings=0, **same) for name in names}  # type: ignore[arg-type]
            site.expected["heading-missing"] |= pair
            for each in {check, "duplicate"}:
                site.pairs[each].append(pair)
        near = words(f"near{n}", 900)
        for name, last in ((f"near{n}a", "alpha"), (f"near{n}b", "omega")):
            site.page(name, "near-duplicate", text=f"{near} {last}", headings=0)
            site.expected["heading-missing"].add(f"{ROOT}{name}")


def _links(site: MadeSite) -> None:
    """Faults of links and redirects."""
    for n in TWICE:
        site.missing(f"gone{n}", "broken-link", linked=True)
        site.page(f"error{n}", "failing-page", answer=Answer(status="500 Internal Server Error"))
        end = site.page(f"end{n}")
        site.moved(f"moved{n}", end)
        site.moved(f"chain{n}a", f"{ROOT}chain{n}b", "redirect-chain")
        site.moved(f"chain{n}b", end, linked=False)
        site.moved(f"loop{n}a", f"{ROOT}loop{n}b", "redirect-loop")
        site.moved(f"loop{n}b", f"{ROOT}loop{n}a", "redirect-loop", linked=False)
        site.page(f"http://{HOST}/plain{n}", "insecure-link")
        frame = site.page(f"http://{HOST}/frame{n}", "insecure-link", "insecure-part", linked=False)
        picture, script = f"http://{HOST}/picture{n}.png", f"http://cdn.example/lib{n}.js"
        site.expected["insecure-part"] |= {picture, script}
        parts = f'<iframe src="{frame}"></iframe><img src="{picture}"><img src="{ROOT}fine.png">'
        site.page(f"parts{n}", text=f"{words(f'parts{n}')}{parts}", head=f'<script src="{script}"></script>')
        site.missing(f"private/{n}", "blocked-link", linked=True)
        before = site.page(f"deep{n}-0")
        for step in range(1, 6):
            checks = ("deep",) if step >= 4 else ()
            url = site.page(f"deep{n}-{step}", *checks, linked=False)
            site.answers[before] = _with_link(site.answers[before], url)
            before = url
    loved = [site.page(f"loved{n}", "important-and-deep", linked=False) for n in TWICE]
    for n in range(5):
        middle = site.page(f"middle{n}", links=loved, linked=False)
        site.page(f"lead{n}", links=[middle])


def _with_link(answer: Answer, url: str) -> Answer:
    return answer._replace(body=answer.body.replace(b"</body>", f'<a href="{url}">on</a></body>'.encode()))


def _versions(site: MadeSite) -> None:
    """Canonical addresses, and versions in other languages."""

    def canonical(url: str) -> str:
        return f'<link rel="canonical" href="{url}">'

    def version(language: str, url: str) -> str:
        return f'<link rel="alternate" hreflang="{language}" href="{url}">'

    for n in TWICE:
        goal, other = site.page(f"goal{n}"), site.page(f"other{n}")
        site.page(f"several{n}", "canonical-several", head=canonical(goal) + canonical(other))
        gone = site.missing(f"gone-canonical{n}")
        site.page(f"canonical-gone{n}", "canonical-broken", head=canonical(gone))
        moved = site.moved(f"moved-canonical{n}", goal, linked=False)
        site.page(f"canonical-moved{n}", "canonical-elsewhere", head=canonical(moved))
        on = site.page(f"canonical-on{n}", head=canonical(goal))
        site.page(f"canonical-chain{n}", "canonical-elsewhere", head=canonical(on))
        site.page(f"canonical-own{n}", head=canonical(f"{ROOT}canonical-own{n}"))
        english, german = f"{ROOT}english{n}", f"{ROOT}german{n}"
        both = version("en", english) + version("de-AT", german) + version("x-default", english)
        site.page(f"english{n}", head=both)
        site.page(f"german{n}", head=both)
        silent = site.page(f"silent-version{n}")
        site.page(f"no-return{n}", "hreflang-return", head=version("fr", silent))
        own = f"{ROOT}bad-code{n}"
        site.page(f"bad-code{n}", "hreflang-code", head=version("english" if n == 1 else "en-UK", own))
        lost = site.missing(f"gone-version{n}", "hreflang-broken")
        site.page(f"version-gone{n}", head=version("it", lost))


def _listed(site: MadeSite) -> None:
    """Faults of the sitemap."""
    for n in TWICE:
        end = site.page(f"listed{n}")
        site.sitemap += [
            end,
            site.page(f"orphan{n}", "orphan", linked=False),
            site.missing(f"gone-listed{n}", "sitemap-failing"),
            site.moved(f"moved-listed{n}", end, "sitemap-redirect", linked=False),
            site.missing(f"private/listed{n}", "sitemap-blocked"),
        ]
    for name, head, more in (
        ("noindex1", '<meta name="robots" content="noindex">', ""),
        ("noindex2", "", "X-Robots-Tag: noindex"),
    ):
        site.sitemap.append(site.page(name, "sitemap-noindex", head=head, answer=Answer(more=more)))


def _others(site: MadeSite) -> None:
    """Other sites of the domain, and links to sites outside."""
    site.page("https://soft.example/", title="Start of the soft site")
    robots = Answer(b"", "404 Not Found")
    site.answers["https://soft.example/robots.txt"] = site.answers["https://soft.example/sitemap.xml"] = robots
    for n in range(30):
        site.soft.add(site.page(f"https://soft.example/missing{n}"))
        site.sorry = site.answers.pop(f"https://soft.example/missing{n}")
    site.answers["https://broken.example/robots.txt"] = Answer(b"", "500 Internal Server Error")
    site.home += ["https://broken.example/page", "https://lost.example/page"]
    site.expected["robots-failing"].add("https://broken.example/robots.txt")
    site.expected["broken-link"].add("https://lost.example/page")
    for n in TWICE:
        site.home.append(f"https://bad{n}.example/")
        site.expected["certificate"].add(f"https://bad{n}.example/")
        for name, check, status in (("gone", "broken", "404 Not Found"), ("fail", "failing", "503 Unavailable")):
            url = f"http://{name}{n}.outside.example/page"
            site.answers[url] = Answer(b"no", status)
            site.home.append(url)
            site.expected[f"external-{check}"].add(url)
        site.page(f"http://fine{n}.outside.example/")
        site.answers[f"http://refused{n}.outside.example/"] = Answer(b"no", "403 Forbidden")
        site.home.append(f"http://refused{n}.outside.example/")
    site.home.append("http://nowhere.example/")
    site.expected["external-broken"].add("http://nowhere.example/")


@contextmanager
def served(site: MadeSite, folder: Path) -> Iterator[MadeSite]:
    """Serves it on loopback, by http and https on one port. The certificate is not for the names bad1 and bad2."""
    made_of = make_certificate(
        [f"{www}{name}.example" for www in ("", "www.") for name in ("site", "soft", "broken")], folder
    )
    assert made_of is not None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(made_of.own, made_of.key)

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with suppress(OSError):
                self._handle()

        def _handle(self) -> None:
            secure = self.request.recv(1, socket.MSG_PEEK) == b"\x16"
            connection = context.wrap_socket(self.request, server_side=True) if secure else self.request
            with connection, connection.makefile("rb") as lines:
                while line := lines.readline():
                    fields = dict(each.lower().split(b": ", 1) for each in iter(lines.readline, b"\r\n"))
                    host = fields[b"host"].strip().decode().removeprefix("www.").partition(":")[0]
                    url = f"{'https' if secure else 'http'}://{host}{line.split(b' ')[1].decode()}"
                    site.requests.append(url)
                    missing = site.sorry if host == "soft.example" else Answer(b"<p>no", "404 Not Found")
                    answer = site.answers.get(url, missing)
                    time.sleep(answer.delay)
                    connection.sendall(answer.raw())

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True

    with Server(("127.0.0.1", 0), Handler) as server:
        site.port, site.trusted = server.server_address[1], made_of.trusted
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield site
        server.shutdown()
