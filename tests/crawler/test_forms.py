"""The canonical form of a collection's URLs: an older collection keeps its form."""

from __future__ import annotations

from pathlib import Path

import pytest

from gossamer.base.errors import UsageError
from gossamer.base.model import Ask, State
from gossamer.collection import manifest
from gossamer.collection.layout import FORMAT, FORMS, make_folders, shard_folder
from gossamer.collection.manifest import Manifest, Meta
from gossamer.collection.recovery import recover
from gossamer.config import Settings
from gossamer.gatherer.gather import gather
from gossamer.read.sql.sources import find
from gossamer.urls import Scope
from gossamer.webs.simulated import Reply
from tests.support.older import forget_form
from tests.support.world import World

HOME = "http://a.example/"
LINKS = ("/%7Eu", "/~u", "/%c3%bc", "/s?q=%3a", "/story?sid=101", "/story?sid=102", "/x;jsessionid=1")


class Site:
    """A server with the same links on every page, and workers that gather them in the form of the collection."""

    def __init__(self, form: int) -> None:
        self.scope = Scope(("*",), form=form)

    def __call__(self, url: str) -> Reply:
        if url.endswith("/robots.txt"):
            return Reply(status=404)
        body = f"<title>{url}</title>{url}" + "".join(f'<a href="{link}">x</a>' for link in LINKS)
        found = gather(url, "text/html", (), body.encode(), Settings().gatherer, self.scope, "Gossamer")
        return Reply(links=[link.url for link in found.links])


def test_a_collection_of_the_version_before_resumes_without_fetching_any_page_twice(tmp_path: Path) -> None:
    world = World(tmp_path, Site(1), ["seeder.url_form=1"])
    first = world.run([HOME])
    assert first.in_state(State.DONE) == set(first.pages)
    assert {"http://a.example/%7Eu", "http://a.example/story", "http://a.example/x"} <= set(first.pages)
    forget_form(tmp_path)
    world.changes = []
    world.asked.clear()
    again = world.run([HOME, "http://a.example/%7Eu", "http://a.example/story?sid=7"])
    assert again.crawl.desk.scope.form == 1
    assert set(again.pages) == set(first.pages)
    assert [asked.url for asked in world.asked if asked.ask is Ask.PAGE] == []
    assert manifest.url_form(shard_folder(tmp_path)) == 1


def test_a_new_collection_has_the_newest_form_and_keeps_it(tmp_path: Path) -> None:
    world = World(tmp_path, Site(2))
    found = set(world.run([HOME]).pages)
    assert found == {HOME, *(f"http://a.example{path}" for path in ("/~u", "/%C3%BC", "/s?q=%3A", *LINKS[4:]))}
    assert manifest.url_form(shard_folder(tmp_path)) == 2
    world.changes = ["seeder.url_form=1"]
    assert world.run().crawl.desk.scope.form == 2, "the manifest decides"


@pytest.mark.parametrize("form", FORMS)
def test_versions_that_know_form_1_alone_refuse_a_collection_of_form_2(tmp_path: Path, form: int) -> None:
    """They read up to format 1, and would fetch its pages again under other URLs."""
    World(tmp_path, Site(form), [f"seeder.url_form={form}"]).run([HOME])
    assert manifest.read(shard_folder(tmp_path)).meta.format == form


def test_a_form_that_is_not_known_is_refused(tmp_path: Path) -> None:
    """A later version may have made it; its pages would not be recognised."""
    shard = shard_folder(tmp_path)
    make_folders(shard)
    Manifest.create(shard, Meta(FORMAT, 0, 5, 1.5, FORMS[-1] + 1))
    with pytest.raises(UsageError, match=f"in form {FORMS[-1] + 1}; this Gossamer knows up to {FORMS[-1]}") as told:
        recover(shard)
    assert told.value.cure
    with pytest.raises(UsageError):
        find(tmp_path)
