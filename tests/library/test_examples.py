"""The examples of docs/examples/, run against small sites on this machine."""

from __future__ import annotations

import importlib.util
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

import pytest

import gossamer
from gossamer.laboratory.report import make
from gossamer.plugins import trust
from gossamer.plugins.find import Plugin, digest_of, find
from gossamer.read.audit import run
from gossamer.read.audit.own import own_checks
from tests.support.paths import ROOT

EXAMPLES: Final = ROOT / "docs" / "examples"
Site = Callable[[str], str | None]


def example(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@contextmanager
def served(name: str, site: Site) -> Iterator[dict[str, Any]]:
    """Serves the pages of a site; the settings with which it is crawled."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = site(self.path)
            self.send_response(404 if body is None else 200)
            raw = (body or "").encode()
            for field, value in (("Content-Type", "text/html; charset=utf-8"), ("Content-Length", str(len(raw)))):
                self.send_header(field, value)
            self.end_headers()
            self.wfile.write(raw)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield {
                "harvester.resolve": {name: f"127.0.0.1:{server.server_port}"},
                "harvester.allow_private": True,
                "harvester.workers": 1,
                "harvester.wait": "20ms",
                "harvester.address_wait": "20ms",
                "collection.max_pages": 100_000,
                "collection.max_sites": 1_000,
            }
        finally:
            server.shutdown()
            thread.join()


QUOTE: Final = """<div class="quote"><span class="text">{text}</span> by <small class="author">{author}</small>
<div class="tags"><a class="tag" href="/tag/x/">{tag}</a><a class="tag" href="/tag/y/">all</a></div></div>"""


def test_the_tutorial_spider_finds_every_quote(tmp_path: Path) -> None:
    said = [
        {"text": f"Saying number {n} of a wise person", "author": f"Author {n % 4}", "tag": f"t{n % 3}"}
        for n in range(30)
    ]

    def site(path: str) -> str | None:
        if path == "/robots.txt":
            return None
        page = 1 if path == "/" else int(path.split("/")[2]) if path.startswith("/page/") else 0
        if page not in (1, 2, 3):
            return None
        here = said[10 * (page - 1) : 10 * page]
        more = f'<li class="next"><a href="/page/{page + 1}/">Next</a></li>' if page < 3 else ""
        return f"<title>Quotes {page}</title>{''.join(QUOTE.format(**each) for each in here)}{more}"

    with served("quotes.toscrape.com", site) as settings:
        options = {"folder": tmp_path / "quotes", "settings": settings, "patience": 2, "progress": False}
        found = list(example("quotes").quotes("http://quotes.toscrape.com/", contact="me@example.org", **options))
    expected = [{"text": e["text"], "author": e["author"], "tags": [e["tag"], "all"]} for e in said]
    assert sorted(found, key=lambda each: each["text"]) == sorted(expected, key=lambda each: str(each["text"]))


def test_the_price_monitor_tells_the_prices_that_have_changed(tmp_path: Path) -> None:
    prices = {f"/product/{n}": f"{n}.99" for n in range(6)}

    def site(path: str) -> str | None:
        if path == "/":
            return "<title>Shop</title>" + "".join(f'<p><a href="{at}">A fine product, {at}</a></p>' for at in prices)
        about = f"All that can be said about {path}: it is solid, it is useful, and it is yours."
        return f"<title>{path}</title><p>{about}</p><b class=price>{prices[path]}</b>" if path in prices else None

    with served("shop.example", site) as settings:

        def changed() -> list[tuple[str, str, str]]:
            options = {"settings": settings, "patience": 2, "contact": "me@example.org", "progress": False}
            return sorted(example("prices").changed_prices("http://shop.example/", tmp_path / "shop", **options))

        assert changed() == []
        prices["/product/2"], prices["/product/4"] = "19.00", "0.50"
        assert changed() == [
            ("http://shop.example/product/2", "2.99", "19.00"),
            ("http://shop.example/product/4", "4.99", "0.50"),
        ]


def test_the_notebook_runs_and_the_corpus_has_one_language(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    notebook = json.loads((EXAMPLES / "tour.ipynb").read_text())
    names: dict[str, Any] = {}
    code = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for cell in code:
        exec(compile(cell.replace("pages=200", "pages=120, settings={'harvester.workers': 1}"), "tour", "exec"), names)
    assert len(code) > 3
    web: gossamer.Collection = names["web"]
    made = list(example("corpus").corpus("tour", "en", 100))
    wanted = {page.url for page in web.pages(language="en", where="outcome = 'ok' and text_length >= 100")}
    assert {each["url"] for each in made} == wanted
    assert wanted
    assert all(each["text"] for each in made)


def test_plug_ins_of_every_kind_work_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A shop whose start page names its products last: the strategy asks for them first, once there are scores."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    shop = EXAMPLES / "shop.py"
    trust.confirm({digest_of(shop): str(shop)})
    kinds = {"process": "offers", "filter": "no_baskets", "report": "prices", "audit": "without_price"}
    named = {f"plugins.{kind}": f"{shop}:{name}" for kind, name in kinds.items()}
    first = [*(f"/about/{n}" for n in range(12)), "/basket/7", "/list?compare=3", *(f"/product/{n}" for n in range(8))]

    def site(path: str) -> str | None:
        about = f"<title>{path}</title><p>All that can be said about {path}: it is solid, it is useful, it is yours."
        if path == "/":
            return about + "".join(f'<p><a href="{at}">Here is {at}</a>' for at in first)
        price = "" if path == "/product/5" else f"<b class=price>{path[-1]}.50 €</b>"
        return about + (price if "product" in path else "") if path in first else None

    with served("shop.example", site) as settings:
        ordered = {"manager.policy": "plugin", "plugins.strategy": f"{shop}:products_first", "manager.batch_size": 1}
        settings |= named | ordered | {"seeder.sitemaps": False}
        options: Any = {"folder": tmp_path / "shop", "settings": settings, "patience": 2, "progress": False}
        url, contact = "http://shop.example/", "me@example.org"
        before = gossamer.crawl(url, contact=contact, pages=3, **options).wait()
        assert before.statistics["stored"] >= 3
        fetched = [page.url for page in gossamer.crawl(url, contact=contact, pages=6, **options)]
        assert [each for each in fetched[:6] if "/product/" not in each] == []
        web = gossamer.crawl(url, contact=contact, **options).wait().collection
    assert web.sql("select count(*) from pages where url like '%basket%' or url like '%compare%'").value() == 0
    assert web.sql("select sum(left_out) from no_baskets").value() == 2
    assert sorted(web.sql("select price from offers")) == [(n + 0.5,) for n in range(8) if n != 5]
    (finding,) = make.report([web.folder], ["prices"], sections=make.with_own(_named(web, "report")))
    assert finding.tables[0].rows[0][1] == 7
    (found,) = run.audit(web.folder, own_checks(_named(web, "audit"))).results
    assert [(each.url, found.severity) for each in found.found] == [("http://shop.example/product/5", "error")]


def _named(web: gossamer.Collection, kind: str) -> tuple[Plugin, ...]:
    return find(web.settings.plugins, web.folder, (kind,))
