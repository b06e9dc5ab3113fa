"""Before a crawl: settings and seeds, what may change between two runs, and what may not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from gossamer import config
from gossamer.base.errors import UsageError
from gossamer.base.units import Duration
from gossamer.collection.layout import FORMAT, MANIFEST, SETTINGS, shard_folder
from gossamer.collection.manifest import Manifest, Meta, url_form
from gossamer.collection.runs import begin_run, runs, settle_run, stored_settings
from gossamer.config.settings import ManagerSettings, SeederSettings, Settings
from gossamer.crawler.start import FIXED, CrawlRequest, LocalWeb, Prepared, prepare
from gossamer.seeder.seeds import read_seeds
from gossamer.webs.local import USUAL, demo_settings
from tests.support.older import forget_form

SEED = "http://127.0.0.1:8000/"
CERTIFICATE = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "crawl"


def prepared(folder: Path, *changes: str, said: list[str] | None = None, **plea: Any) -> Prepared:
    seeds = plea.pop("seeds", (SEED,))
    lines, demonstration = [] if said is None else said, plea.pop("demonstration", None)
    return prepare(CrawlRequest(folder, seeds, changes=changes, **plea), lines.append, demonstration)


def a_run(folder: Path, *changes: str, **plea: Any) -> Prepared:
    """What a run leaves behind, as far as the next run reads it."""
    found = prepared(folder, *changes, **plea)
    shard = shard_folder(folder)
    shard.mkdir(parents=True, exist_ok=True)
    if not (shard / MANIFEST).exists():
        Manifest.create(shard, Meta(FORMAT, 0, 1, 0.0, found.settings.seeder.url_form))
    if found.toml is not None:
        (folder / SETTINGS).write_bytes(found.toml)
    begin_run(shard, found.settings, 0.0, found.changed)
    settle_run(shard)
    return found


def test_a_resume_with_other_settings_lists_the_differences(folder: Path) -> None:
    a_run(folder, "harvester.wait=5s")
    said: list[str] = []
    assert prepared(folder, said=said).toml is None
    assert said == []
    a_run(folder, "harvester.wait=6s", "manager.weights=depth=1", said=said)
    assert said == [
        'changed: manager.weights: { "completed" = 1.0 } -> { "depth" = 1.0 }',
        "changed: harvester.wait: 5s -> 6s",
    ]
    assert config.load(folder / SETTINGS).harvester.wait == Duration(6)


def test_a_change_in_crawl_toml_itself_is_listed_too(folder: Path) -> None:
    a_run(folder)
    path = folder / SETTINGS
    path.write_text(path.read_text() + "\n[harvester]\ntries = 2\n")
    said: list[str] = []
    assert prepared(folder, said=said).toml is None
    assert said == ["changed: harvester.tries: 3 -> 2"]


@pytest.mark.parametrize(
    "change",
    [
        "seeder.session_ids=sid",
        "seeder.www=false",
        "seeder.transform=a => b",
        "seeder.url_form=1",
        "harvester.agent=Other",
    ],
)
@pytest.mark.parametrize("way", ["--set", "crawl.toml"])
def test_settings_that_known_pages_depend_on_cannot_change(folder: Path, change: str, way: str) -> None:
    a_run(folder)
    key = change.partition("=")[0]
    if way == "crawl.toml":
        path = folder / SETTINGS
        path.write_text(config.dump(config.override(config.load(path), [change])))
    with pytest.raises(UsageError, match=key.replace(".", r"\.")) as caught:
        prepared(folder, *(() if way == "crawl.toml" else (change,)))
    assert FIXED[key] in str(caught.value)
    prepared(folder.with_name("another"), change)


def test_a_collection_older_than_recorded_runs_keeps_www_separate(folder: Path) -> None:
    shard = shard_folder(folder)
    shard.mkdir(parents=True)
    Manifest.create(shard, Meta(FORMAT, 0, 1, 0.0))
    (folder / SETTINGS).write_text('[seeder]\ndomains = ["127.0.0.1"]\n')
    said: list[str] = []
    found = a_run(folder, said=said)
    assert not found.settings.seeder.www
    assert said == []
    assert not config.load(folder / SETTINGS).seeder.www
    assert prepared(folder).toml is None


def test_a_collection_of_an_older_version_keeps_the_form_of_its_urls(folder: Path) -> None:
    a_run(folder, "seeder.url_form=1")
    shard = shard_folder(folder)
    forget_form(folder)
    said: list[str] = []
    found = a_run(folder, seeds=("http://127.0.0.1:8000/%7Eu?sid=101",), said=said)
    assert found.settings.seeder.url_form == 1
    assert found.seeds.urls == ("http://127.0.0.1:8000/%7Eu",)
    assert said == []
    assert stored_settings(folder).seeder.url_form == url_form(shard) == 1
    with pytest.raises(UsageError, match=r"seeder\.url_form: 1 -> 2"):
        prepared(folder, "seeder.url_form=2")
    assert prepared(folder.with_name("new")).settings.seeder.url_form == 2


def test_a_form_of_a_newer_version_is_refused(folder: Path) -> None:
    a_run(folder)
    Manifest.create(shard_folder(folder), Meta(FORMAT, 0, 1, 0.0, 3))
    with pytest.raises(UsageError, match="form 3"):
        prepared(folder)


def test_addresses_of_a_demonstration_web_are_no_change_of_settings(folder: Path) -> None:
    a_run(folder)
    said: list[str] = []
    demo = demo_settings({"a.test": "127.0.0.1:1234"}, ("test",))
    waits = [f"harvester.{name}={getattr(demo.harvester, name)}" for name in ("wait", "wait_large", "address_wait")]
    a_run(folder, *waits)
    prepare(CrawlRequest(folder, (SEED,)), said.append, LocalWeb(demo, (), USUAL))
    assert said == []


@pytest.mark.parametrize("way", ["--set", "--config", "crawl.toml"])
def test_a_wait_set_by_the_user_holds_for_a_demonstration_web_too(folder: Path, way: str) -> None:
    """An explicit default is different from no setting, and a resume keeps it."""
    path = folder / SETTINGS if way == "crawl.toml" else folder.with_name("my.toml")
    path.parent.mkdir(exist_ok=True)
    path.write_text('[harvester]\nwait = "15s"\n')
    demo = demo_settings({"a.test": "127.0.0.1:1234"}, ("127.0.0.1",))
    local = LocalWeb(demo, (), USUAL)
    changes = ("harvester.wait=15s",) if way == "--set" else ()
    found = a_run(folder, *changes, config=path if way == "--config" else None, demonstration=local)
    said: list[str] = []
    again = a_run(folder, demonstration=local, said=said)
    for each in (found, again):
        assert each.settings.harvester.wait == Duration(15)
        assert each.settings.harvester.address_wait == demo.harvester.address_wait
    assert said == []


@pytest.mark.parametrize(
    ("changes", "seconds"),
    [
        (("manager.continuous=true",), 60),
        ((), -1),
        (("manager.continuous=true", "manager.min_period=2h"), 7200),
        (("manager.continuous=true", "manager.preset=news"), -1),
    ],
)
def test_a_demonstration_web_that_lives_faster_is_visited_again_sooner(
    folder: Path, changes: tuple[str, ...], seconds: float
) -> None:
    demo = replace(demo_settings({}, ("test",)), manager=ManagerSettings(min_period=Duration(60)))
    found = a_run(folder, *changes, demonstration=LocalWeb(demo, (), (*USUAL, "manager.min_period")))
    assert found.settings.manager.min_period == seconds


def test_trusted_certificates_are_found_in_the_collection_or_the_working_folder(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=r"own\.pem"):
        prepared(folder, "harvester.trusted=own.pem")
    (tmp_path / "own.pem").write_bytes(CERTIFICATE)
    found = prepared(folder, "harvester.trusted=own.pem")
    assert found.settings.harvester.trusted == str(tmp_path / "own.pem")
    assert config.loads((found.toml or b"").decode()).harvester.trusted == "own.pem"
    a_run(folder)
    (folder / "own.pem").write_bytes(CERTIFICATE)
    assert prepared(folder, "harvester.trusted=own.pem").settings.harvester.trusted == str(folder / "own.pem")
    (folder / "own.pem").write_bytes(b"x")
    with pytest.raises(UsageError, match="no certificate"):
        prepared(folder, "harvester.trusted=own.pem")


def test_the_domains_of_the_seeds_are_accepted_if_none_are_set(folder: Path) -> None:
    seeds = ("http://www.example.org/", "http://a.b.example.co.uk/x", "http://127.0.0.1/")
    found = prepared(folder, "harvester.contact=a@example.org", seeds=seeds)
    assert found.settings.seeder.domains == ("example.org", "example.co.uk", "127.0.0.1")


def test_the_ports_of_the_seeds_are_accepted_and_stay_accepted(folder: Path) -> None:
    seeds = ("http://127.0.0.1:9000/", "http://localhost:8080/", "https://localhost/", "http://localhost:0/")
    said: list[str] = []
    usual = Settings().seeder.ports
    assert a_run(folder, seeds=seeds, said=said).settings.seeder.ports == (*usual, "9000")
    assert [line for line in said if "port 0" in line]
    said.clear()
    assert prepared(folder, seeds=(), said=said).settings.seeder.ports == (*usual, "9000")
    assert prepared(folder, 'seeder.ports=["*"]').settings.seeder.ports == ("*",)
    assert said == []


def test_a_collection_older_than_the_setting_of_ports_keeps_its_pages(folder: Path) -> None:
    a_run(folder)
    path = shard_folder(folder) / "runs.jsonl"
    recorded = runs(shard_folder(folder))
    del recorded[-1]["settings"]["seeder"]["ports"]
    path.unlink()
    with patch("gossamer.crawler.start.runs", lambda shard: recorded):
        assert prepared(folder, seeds=()).settings.seeder.ports == ("*",)


def test_a_collection_keeps_the_session_parameters_of_its_last_run(folder: Path) -> None:
    """The default list grows from version to version, and must not keep older collections from being resumed."""
    a_run(folder)
    recorded = runs(shard_folder(folder))
    recorded[-1]["settings"]["seeder"]["session_ids"] = ["sid", "PHPSESSID"]
    with patch("gossamer.crawler.start.runs", lambda shard: recorded):
        assert prepared(folder, seeds=()).settings.seeder.session_ids == ("sid", "PHPSESSID")
        with pytest.raises(UsageError, match=r"seeder[.]session_ids"):
            prepared(folder, 'seeder.session_ids=["sid"]', seeds=())


@pytest.mark.parametrize("said", ['contact = "a@example.org"', 'about = "https://example.org/crawler"'])
def test_a_contact_or_a_web_page_is_enough_and_both_come_from_the_user_settings(folder: Path, said: str) -> None:
    user = folder.with_name("user.toml")
    user.write_text(f"[harvester]\n{said}\n")
    own = prepared(folder, seeds=("http://example.org/",), user_settings=user).settings.harvester
    assert (bool(own.contact), bool(own.about)) == ("contact" in said, "about" in said)
    named = prepared(folder, "harvester.contact=b@example.org", seeds=("http://example.org/",), user_settings=user)
    assert (named.settings.harvester.contact, named.settings.harvester.about) == ("b@example.org", "")


@pytest.mark.parametrize("way", ["--config", "--set", "crawl.toml"])
def test_a_resume_without_domains_keeps_the_domains_of_the_collection(folder: Path, way: str) -> None:
    """`gossamer config` prints `domains = []`: its output can be used as input."""
    a_run(folder)
    printed = folder.with_name("printed.toml")
    printed.write_text(config.dump(Settings(), whole=True))
    if way == "crawl.toml":
        (folder / SETTINGS).write_text(printed.read_text())
    said: list[str] = []
    changes = ("seeder.domains=[]",) if way == "--set" else ()
    for _ in range(2):
        found = a_run(folder, *changes, config=printed if way == "--config" else None, seeds=(), said=said)
        assert found.settings.seeder.domains == ("127.0.0.1",)
        assert config.load(folder / SETTINGS).seeder.domains == ("127.0.0.1",)
    assert said == []


def test_a_seed_keeps_its_www_and_is_one_page_with_the_bare_name() -> None:
    twins = (
        "www.example.org",
        "https://example.org/",
        f"http://example.org/a?sid={'0' * 32}",
        "http://WWW.example.org/a",
    )
    given = (*twins, "www.com")
    found = read_seeds(given, (), SeederSettings())
    assert found.urls == ("https://www.example.org/", "http://example.org/a", "https://www.com/")
    apart = read_seeds(given, (), SeederSettings(www=False))
    assert apart.urls == (
        "https://www.example.org/",
        "https://example.org/",
        "http://example.org/a",
        "http://www.example.org/a",
        "https://www.com/",
    )


def test_patterns_rewrite_seeds_and_never_reject_them() -> None:
    settings = SeederSettings(transform=("^http: => https:", "/home$ => /"), reject=("example",), accept=("/never",))
    assert read_seeds(("http://www.example.org/home",), (), settings).urls == ("https://www.example.org/",)


def test_seeds_are_classified_by_the_settings() -> None:
    usual = Settings().seeder
    seeds = ("http://example.org/a.pdf",)
    assert read_seeds(seeds, (), usual).urls == ()
    assert read_seeds(seeds, (), replace(usual, documents=())).urls == seeds
