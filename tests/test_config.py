from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.config import Settings, differences, dump, from_json, load, loads, override, to_json
from gossamer.config.load import line_of
from gossamer.config.values import known
from gossamer.errors import UsageError
from gossamer.units import Duration, Size
from gossamer.urls import SESSION_IDS

_texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
_settings = st.builds(
    lambda s, h, g: replace(Settings(), seeder=s, harvester=h, gatherer=g),
    st.builds(
        lambda domains, ids, depth: replace(Settings().seeder, domains=domains, session_ids=ids, depth_static=depth),
        st.lists(_texts, max_size=3).map(tuple), st.lists(_texts, max_size=3).map(tuple), st.integers(0, 254),
    ),
    st.builds(
        lambda wait, contact, private, resolve: replace(
            Settings().harvester, wait=wait, contact=contact, allow_private=private, resolve=resolve
        ),
        st.floats(0, 1e9).map(Duration), _texts, st.booleans(), st.dictionaries(_texts, _texts, max_size=3),
    ),
    st.builds(lambda size: replace(Settings().gatherer, max_stored=size), st.integers(0, 10**12).map(Size)),
)  # fmt: skip


@given(_settings, st.booleans())
@settings(deadline=None)
def test_dumped_settings_load_again(settings: Settings, whole: bool) -> None:
    assert loads(dump(settings, whole)) == settings


@given(_settings)
@settings(deadline=None)
def test_settings_survive_json(settings: Settings) -> None:
    assert from_json(to_json(settings)) == settings
    assert type(from_json(to_json(settings)).harvester.wait) is Duration


def test_default_settings_dump_to_nothing_and_whole_ones_to_every_key_with_its_sentence() -> None:
    assert dump(Settings()) == ""
    text = dump(Settings(), whole=True)
    for key in known():
        line = line_of(text, *key.split("."))
        assert text.splitlines()[line - 2].startswith("# "), key


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("[harvester]\n\nwiat = '5s'", 3, ["harvester.wiat", "Did you mean harvester.wait?"]),
        ("[gatherer]\nmax_links = 1\n[harvester]\n# wait\nwait = '5m'", 5, ["'5m'", "ms, s, min, h, d"]),
        ("harvester.tries = 0", 1, ["0 is out of range", "1 to 255"]),
        ("\n[haverster]\nwait = 1", 2, ["Did you mean harvester?"]),
        ("wait = 3", 1, ["Did you mean harvester.wait?"]),
        ("[seeder]\ndomains = 'x'", 2, ["list of texts"]),
        ("[seeder]\npages_per_site = 1.5", 2, ["whole number"]),
        ("[seeder]\npages_per_site = true", 2, ["whole number"]),
        ("[harvester]\nallow_private = 1", 2, ["neither true nor false"]),
        ("[harvester]\nagent = 1", 2, ["in quotes"]),
        ("[collection]\nwarc_size = '1KB'", 2, ["1KB is out of range", "1MB"]),
        ("[harvester]\nwait = 1\n[harvester.resolve]\na = 1", 3, ["table of texts"]),
        ("[harvester]\nwhole_timeout = 0", 2, ["from 1ms on"]),
        ("harvester = 3", 1, ["[harvester]"]),
    ],
)
def test_a_mistake_names_file_line_and_cure(text: str, line: int, words: list[str]) -> None:
    with pytest.raises(UsageError) as caught:
        loads(text, "crawl.toml")
    for word in [f"crawl.toml, line {line}:", *words]:
        assert word in str(caught.value)


def test_what_is_not_toml_or_not_there_is_a_usage_error_with_the_file(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text("[harvester\n")
    (tmp_path / "b.toml").write_bytes(b"\xff\xfe")
    for name in ("a.toml", "b.toml", "c.toml"):
        with pytest.raises(UsageError, match=name):
            load(tmp_path / name)


def test_a_file_is_read_with_its_units(tmp_path: Path) -> None:
    path = tmp_path / "crawl.toml"
    path.write_text('\ufeff[harvester]\nwait = "1min30s"\nmax_download = "1MiB"\n[seeder]\ndomains = ["a.org"]\n')
    settings = load(path)
    assert settings.harvester.wait == Duration(90)
    assert settings.harvester.max_download == Size(2**20)
    assert settings.seeder.domains == ("a.org",)
    assert settings.harvester.pause == Settings().harvester.pause


def test_overrides_take_bare_texts_lists_and_toml() -> None:
    settings = override(
        Settings(),
        ["harvester.wait=5s", "seeder.domains=a.org, b.org", "harvester.agent=007", 'harvester.contact="x=y"',
         'harvester.resolve={"*.x" = "127.0.0.1:80"}', "harvester.allow_private=true", "harvester.tries=2"],
    )  # fmt: skip
    assert differences(Settings(), settings) == [
        'seeder.domains: [] -> ["a.org", "b.org"]',
        'harvester.contact: "" -> "x=y"',
        'harvester.agent: "Gossamer" -> "007"',
        "harvester.wait: 15s -> 5s",
        "harvester.tries: 3 -> 2",
        "harvester.allow_private: false -> true",
        'harvester.resolve: {} -> { "*.x" = "127.0.0.1:80" }',
    ]
    assert override(settings, ["seeder.domains="]).seeder.domains == ()


@pytest.mark.parametrize(
    "text", ["harvester.wait", "wait=3", "harvester.wiat=3s", "harvester.tries=many", "=", "x.y=1"]
)
def test_a_wrong_override_is_named(text: str) -> None:
    with pytest.raises(UsageError, match="--set"):
        override(Settings(), [text])


def test_default_session_ids_are_those_of_the_canonical_form() -> None:
    assert Settings().seeder.session_ids == SESSION_IDS


def test_settings_import_nothing_heavy() -> None:
    code = (
        "import sys, gossamer.config; print([m for m in ('numba', 'numpy', 'pyarrow', 'ada_url') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
