"""Settings: read, checked, written; each error names the file, the line and the cure."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.base.errors import UsageError
from gossamer.base.units import Duration, Size, Speed
from gossamer.cli.collection import config as config_command
from gossamer.config import Settings, differences, dump, from_json, load, loads, override, reference, to_json
from gossamer.config.accepted import CLASSES, RANGES, SCORES, WORDS, endpoint
from gossamer.config.dump import WIDTH
from gossamer.config.load import line_of
from gossamer.config.presets import PACES
from gossamer.config.values import known, write

_texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
_ascii = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=12)
_names = st.from_regex(r"\A[a-z][a-z0-9-]{0,8}\Z")
_patterns = st.sampled_from(
    ("/a", r"\.html$", r"[?&]x=\d+", "it's", 'say "x"', r"\\", "ü", "a{1,2}", "(?i)B", "#", "'\"", "\t", "\x7f")
)
_rules = st.builds("{} => {}".format, _patterns.filter(str.strip), st.sampled_from(("", r"\\", "x", r"\g<0>")))


def _many(texts: st.SearchStrategy[str]) -> st.SearchStrategy[tuple[str, ...]]:
    return st.lists(texts, max_size=30).map(tuple)


def _part(section: str, **values: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    usual = getattr(Settings(), section)
    return st.fixed_dictionaries({}, optional=values).map(lambda chosen: replace(usual, **chosen))


_settings = st.builds(
    Settings,
    _part("collection", max_pages=st.integers(1, 2**32 - 2), warc_size=st.integers(10**6, 10**12).map(Size)),
    _part(
        "seeder",
        domains=_many(_names),
        session_ids=_many(_names),
        depth_static=st.integers(0, 254),
        www=st.booleans(),
        url_form=st.sampled_from((1, 2)),
        ports=_many(st.just("*") | st.integers(1, 65_535).map(str)),
        accept=_many(_patterns),
        reject=_many(_patterns),
        transform=_many(_rules),
        images=_many(_names.map("i_{}".format)),
        archives=_many(_names.map("a_{}".format)),
    ),
    _part(
        "manager",
        policy=st.sampled_from(WORDS["manager.policy"]),
        preset=st.sampled_from(WORDS["manager.preset"]),
        weights=st.dictionaries(st.sampled_from(SCORES), st.just(0.0) | st.floats(1e-6, 1000)).filter(
            lambda weights: any(weights.values())
        ),
        boosts=st.dictionaries(_patterns, st.floats(0, 1)),
        alpha=st.just(-1.0) | st.floats(0, 100),
    ),
    _part(
        "harvester",
        wait=st.floats(0, 30 * 86400).map(Duration),
        contact=_ascii,
        allow_private=st.booleans(),
        about=st.sampled_from(("", "https://example.org/~crawl?a=[b]#c", "http://x")),
        http2=st.booleans(),
        resolve=st.dictionaries(_texts, st.sampled_from(("none", "127.0.0.1", "[::1]:80"))),
        trusted=_texts,
        forbidden=_many(st.ip_addresses().map(str)),
        resolvers=_many(st.ip_addresses(v=4).map("{}:53".format)),
    ),
    _part(
        "gatherer",
        max_stored=st.integers(0, 2**31 - 1).map(Size),
        keep=_many(_names.map("k{}".format)),
        links=_many(st.builds("{} {}".format, _names, _names)),
    ),
)


@given(_settings, st.booleans())
@settings(deadline=None)
def test_dumped_settings_load_again(settings: Settings, whole: bool) -> None:
    assert loads(dump(settings, whole)) == settings


@given(_settings)
@settings(deadline=None)
def test_settings_survive_json(settings: Settings) -> None:
    assert from_json(to_json(settings)) == settings
    assert type(from_json(to_json(settings)).harvester.wait) is Duration


def test_settings_are_dumped_as_a_whole_or_only_the_changes() -> None:
    assert dump(Settings()) == ""
    text = dump(Settings(), whole=True)
    lines = text.splitlines()
    assert loads(text) == Settings()
    assert max(map(len, lines)) <= WIDTH
    for key in (each for each in known() if each != "plugins.extract"):  # rules are tables of their own
        line = line_of(text, *key.split("."))
        kind = lines[line - 2]
        assert kind.startswith("# "), key
        assert kind.endswith(")"), key
    few = dump(override(Settings(), ["harvester.wait=5s", "manager.weights=depth=1"]))
    assert [line for line in few.splitlines() if line and line[0] != "#"] == [
        "[manager]",
        'weights = { "depth" = 1.0 }',
        "[harvester]",
        'wait = "5s"',
    ]


def test_values_of_the_preset_are_printed() -> None:
    news = loads("[manager]\npreset = 'news'\ngamma = 3.0")
    text = dump(news, whole=True)
    assert "default -1.0; by the preset news: 0.5)\nalpha = -1.0" in text
    assert "default -1; by the preset news: 6h)\nmin_period = -1\n" in text
    assert "default -1.0)\ngamma = 3.0" in text
    assert loads(text) == news
    assert loads("[manager]\nmin_period = '1d'").manager.min_period == Duration(86_400)
    assert differences(Settings(), override(Settings(), ["manager.min_period=1d"])) == ["manager.min_period: -1 -> 1d"]
    assert override(news, ["manager.min_period=-1"]) == news


def test_a_setting_that_is_gone_is_accepted_in_files() -> None:
    assert loads("[manager]\nbeta = 3.0") == Settings()


def test_every_number_has_a_range_and_every_default_is_accepted() -> None:
    numbers = {key for key, kind in known().items() if kind in (int, float, Duration, Size, Speed, dict[str, float])}
    assert set(RANGES) == numbers
    assert from_json(to_json(Settings())) == Settings()


def test_the_reference_has_a_row_for_every_setting() -> None:
    text = reference()
    for key in known():
        section, name = key.split(".")
        part = text.split(f"## [{section}]")[1].split("\n## [")[0]
        (row,) = [line for line in part.splitlines() if line.startswith(f"| `{name}` |")]
        cells = row.replace("\\|", "").split("|")
        assert len(cells) == 6
        assert all(cell.strip() for cell in cells[1:-1]), row
        if "see below" in row:
            assert f"\n{name} = [" in part
    assert "| `tries` | `3` | whole number, 1 to 255 |" in text
    assert "one of value, completed-pagerank, breadth-first" in text


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
        ("[harvester]\nwhole_timeout = 0", 2, ["1ms to 1d"]),
        ("harvester = 3", 1, ["[harvester]"]),
        ("[manager]\nalpha = 'x'", 2, ["not a number"]),
        ("[manager]\nalpha = -0.5", 2, ["-0.5 is out of range", "0 to 100, or -1"]),
        ("[manager]\nalpha = nan", 2, ["out of range"]),
        ("[manager]\nalpha = true", 2, ["not a number"]),
        (
            "[manager]\npolicy = 'valeu'",
            2,
            ["not one of value, completed-pagerank, breadth-first", "did you mean value?"],
        ),
        ("[manager]\npreset = 'x'", 2, ["not one of research, archive, news, mirror, general"]),
        ("[manager]\nweights = { pagerang = 1 }", 2, ["'pagerang' is not one of", "did you mean pagerank?"]),
        ("[manager.weights]\nopic = 1\n\ndepth = -1", 4, ["depth: -1.0 is out of range", "0.000001 to 1000"]),
        ("[manager]\nalpha = 1\nweights = { opic = 1, depth = 0.0000001 }", 3, ["depth: 1e-07 is out of range"]),
        ("[manager.weights]\nopic = 1\ndepth = 1001", 3, ["depth: 1001.0 is out of range", "0, or 0.000001 to 1000"]),
        ("[manager]\n\nweights = {}", 3, ["manager.weights: no score has a weight above 0"]),
        ("[manager]\nweights = { opic = 0 }", 2, ["no score has a weight above 0", "{ opic = 1.0 }"]),
        ("[manager.weights]\nopic = 1\ndepth = 'deep'", 3, ["depth", "not a number"]),
        ("[manager]\nweights = 3", 2, ["not a table of numbers"]),
        ("[manager.boosts]\n'/a' = 1\n'/(b' = 1", 3, ["manager.boosts", "not a regular expression", "unterminated"]),
        ("[manager.boosts]\n'/a' = 2", 2, ["out of range"]),
        ("[seeder]\nreject = [\n  '/a',\n  '[b',\n]", 4, ["seeder.reject: '[b' is not a regular expression"]),
        ("[seeder]\nreject = [\n  '/a',\n  \"\\\\d(\",\n]", 4, ["not a regular expression"]),
        ("[seeder]\naccept = ['']", 2, ["empty regular expression"]),
        ("[seeder]\ntransform = ['a -> b']", 2, ["regular expression => replacement"]),
        ("[seeder]\ntransform = ['(a) => \\2']", 2, ["not a regular expression", "invalid group reference"]),
        ("[seeder]\ntransform = [ '(a => b' ]", 2, ["not a regular expression"]),
        ("[seeder]\nimages = [\n 'x',\n '.png',\n]", 4, ["'.png' is not accepted", "without its dot"]),
        ("[seeder]\nimages = ['PNG']", 2, ["lower case"]),
        ("[seeder]\nimages = [\n 'gif',\n 'pdf',\n]", 4, ["'pdf' is in images and in documents"]),
        ("[seeder]\ndomains = ['http://x.org']", 2, ["not a domain"]),
        ("[seeder]\nsession_ids = ['a*b']", 2, ["name of a parameter"]),
        ("[harvester]\nforbidden = [\n '10.0.0.0/8',\n '10.0.0.1/8',\n]", 4, ["host bits set"]),
        ("[harvester]\nforbidden = ['example.org']", 2, ["neither an address nor a network"]),
        ("[harvester]\nresolvers = ['127.0.0.1', 'ns.example.org']", 2, ["'ns.example.org'", "name server"]),
        ("[harvester]\nresolvers = ['127.0.0.1:99999']", 2, ["name server"]),
        ("[harvester.resolve]\na = '127.0.0.1:1'\nb = 'x:1'", 3, ["'b' leads to 'x:1'"]),
        ("[harvester]\nagent = 'a b'", 2, ["letters, digits"]),
        ('[harvester]\ncontact = "a@b.c\\r\\nX-Evil: 1"', 2, ["harvester.contact", "mail address"]),
        ("[harvester]\ncontact = 'ä@example.org'", 2, ["in ASCII"]),
        ('[harvester]\nabout = "https://example.org/\\nX-Evil: 1"', 2, ["harvester.about", "write a URL like"]),
        ("[harvester]\nabout = 'https://example.org/a) Evil/1 ('", 2, ["write a URL like"]),
        ("[harvester]\nabout = 'you@example.org'", 2, ["write a URL like"]),
        ("[seeder]\nports = ['80', '0']", 2, ["'0' is not a port"]),
        ("[seeder]\nports = ['65536']", 2, ["from 1 to 65535"]),
        ("[seeder]\nports = [80]", 2, ["list of texts"]),
        ("[manager]\nmin_period = -2", 2, ["not a duration"]),
        ("[harvester]\nwait = -1", 2, ["out of range", "0s to 30d"]),
        ("[harvester]\nwait = '31d'", 2, ["31d is out of range", "0s to 30d"]),
        ("[gatherer]\nlinks = ['a href', 'img']", 2, ["'img' is not accepted", "tag and attribute"]),
        ("[gatherer]\ndrop = ['script', '<b>']", 2, ["name of a tag"]),
        ("[gatherer]\ndrop = ['b']\nkeep = [\n 'i', 'b'\n]", 2, ["'b' is in drop and in keep"]),
    ],
)
def test_an_error_names_file_line_and_cure(text: str, line: int, words: list[str]) -> None:
    with pytest.raises(UsageError) as caught:
        loads(text, "crawl.toml")
    for word in [f"crawl.toml, line {line}:", *words]:
        assert word in str(caught.value)


def test_a_file_that_is_missing_or_not_toml_is_a_usage_error_that_names_it(tmp_path: Path) -> None:
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


def test_a_difference_of_long_lists_and_tables_names_added_and_removed_items() -> None:
    many = tuple(f"/{word}/" for word in ("login", "logout", "register", "calendar", "print", "edit", "basket", "cart"))

    def rejecting(*patterns: str) -> Settings:
        return replace(Settings(), seeder=replace(Settings().seeder, reject=patterns))

    old = rejecting(*many)
    assert differences(old, rejecting(*many[1:], "/x/")) == ['seeder.reject: + "/x/", - "/login/"']
    assert differences(old, rejecting("/x/")) == [
        'seeder.reject: + "/x/", - "/login/", "/logout/", "/register/" and 5 more'
    ]
    assert differences(old, rejecting(*many[::-1])) == ["seeder.reject: other order"]
    names = replace(Settings(), harvester=replace(Settings().harvester, resolve={f"{n}.x": "none" for n in range(12)}))
    assert differences(Settings(), names) == [
        'harvester.resolve: + "0.x" = "none", "1.x" = "none", "2.x" = "none" and 9 more'
    ]


def test_overrides_accept_unquoted_texts_lists_and_toml() -> None:
    settings = override(
        Settings(),
        [
            "harvester.wait=5s",
            "seeder.domains=a.org, b.org",
            "harvester.agent=007",
            'harvester.contact="x=y"',
            'harvester.resolve={"*.x" = "127.0.0.1:80"}',
            "harvester.allow_private=true",
            "harvester.tries=2",
        ],
    )
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
    several = override(
        Settings(),
        [
            "seeder.reject=/a{1,2}/",
            'seeder.accept=["/x", "/y"]',
            "manager.weights=pagerank=2, depth=0.5",
            "manager.alpha=1",
            "manager.policy=opic",
        ],
    )
    assert several.seeder.reject == ("/a{1,2}/",)
    assert several.seeder.accept == ("/x", "/y")
    assert several.manager.weights == {"pagerank": 2.0, "depth": 0.5}
    assert (several.manager.alpha, several.manager.policy) == (1.0, "opic")


@pytest.mark.parametrize(
    "text", ["harvester.wait", "wait=3", "harvester.wiat=3s", "harvester.tries=many", "=", "x.y=1"]
)
def test_the_error_for_an_invalid_override_names_the_option(text: str) -> None:
    with pytest.raises(UsageError, match="--set"):
        override(Settings(), [text])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("127.0.0.1", ("127.0.0.1", 0)),
        ("127.0.0.1:80", ("127.0.0.1", 80)),
        ("::1", ("::1", 0)),
        ("[::1]", ("::1", 0)),
        ("[0:0::1]:80", ("::1", 80)),
        ("", None),
        ("x", None),
        ("127.0.0.1:", None),
        ("127.0.0.1:x", None),
        ("127.0.0.1:65536", None),
        ("[127.0.0.1]:80", None),
        ("[::1]80", None),
        (":80", None),
        ("127.0.0.1:²", None),
        ("example.org:80", None),
    ],
)
def test_an_endpoint_is_an_address_with_or_without_a_port(text: str, expected: tuple[str, int] | None) -> None:
    assert endpoint(text) == expected


def test_long_lists_are_broken_into_lines_and_short_ones_are_not() -> None:
    assert write(("a", "b"), 20) == '["a", "b"]'
    assert write(("a" * 5,) * 4, 24, 4) == '[\n    "aaaaa", "aaaaa",\n    "aaaaa", "aaaaa",\n]'
    assert write(("a" * 30, "b"), 20) == '[\n    "' + "a" * 30 + '",\n    "b",\n]'
    assert write((), 1) == "[]"


def test_no_extension_may_be_in_two_lists() -> None:
    for name in CLASSES:
        with pytest.raises(UsageError, match="one class"):
            loads(f"[seeder]\n{name} = ['{'pdf' if name != 'documents' else 'html'}']")
    assert loads("[seeder]\nimages = ['pdf']\ndocuments = []").seeder.documents == ()


def shown(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> str:
    config_command.main([*map(str, arguments)], standalone_mode=False)
    return capsys.readouterr().out


def test_the_command_prints_defaults_settings_of_a_collection_changes_and_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "crawl.toml").write_text('[harvester]\nwait = "7s"\n')
    own = load(tmp_path / "crawl.toml")
    assert loads(shown(capsys)) == Settings()
    assert from_json(shown(capsys, "--json")) == Settings()
    assert loads(shown(capsys, tmp_path)) == own
    assert shown(capsys, tmp_path / "crawl.toml") == dump(own, whole=True)
    assert shown(capsys, tmp_path, "--changes") == dump(own)
    assert from_json(shown(capsys, tmp_path, "--json")) == own
    with pytest.raises(UsageError, match="no such file"):
        shown(capsys, tmp_path / "x")
    with pytest.raises(UsageError, match="needs a collection"):
        shown(capsys, "--changes")
    with pytest.raises(UsageError, match="cannot be combined"):
        shown(capsys, tmp_path, "--changes", "--json")


def test_settings_import_nothing_heavy() -> None:
    code = (
        "import sys, gossamer.config; print([m for m in ('numba', 'numpy', 'pyarrow', 'ada_url') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# --- paces


@given(
    pace=st.sampled_from(sorted(PACES)),
    before=st.sampled_from(sorted(PACES)),
    given_=st.dictionaries(st.sampled_from(["wait", "wait_large"]), st.integers(0, 100)),
    at_once=st.booleans(),
)
def test_a_pace_sets_the_waits_that_are_not_set(pace: str, before: str, given_: dict[str, int], at_once: bool) -> None:
    set_ = [f"harvester.{name}={seconds}s" for name, seconds in given_.items()]
    first, then = ([], [*set_, f"harvester.pace={pace}"]) if at_once else (set_, [f"harvester.pace={pace}"])
    settings = override(override(Settings(), [f"harvester.pace={before}", *first]), then)
    for name, usual in PACES[pace].items():
        found = getattr(settings.harvester, name)
        if name not in given_:
            assert found == usual
        elif at_once or given_[name] != PACES[before][name]:
            assert found == given_[name], "a wait that is set stays"
    assert loads(dump(settings)) == settings
    assert from_json(to_json(settings)) == settings


def test_a_pace_and_a_wait_in_one_file_do_not_depend_on_their_order() -> None:
    for text in ('pace = "gentle"\nwait = "15s"', 'wait = "15s"\npace = "gentle"'):
        harvester = loads(f"[harvester]\n{text}").harvester
        assert (harvester.wait, harvester.wait_large, harvester.wait_factor) == (15.0, 1.0, 10.0)


def test_the_waits_of_a_pace_are_not_written_out() -> None:
    written = dump(override(Settings(), ["harvester.pace=gentle"]))
    assert 'pace = "gentle"' in written
    assert "\nwait" not in written
    assert "at the pace gentle: 1s" in dump(override(Settings(), ["harvester.pace=gentle"]), whole=True)
