"""What settings name is found, loaded, checked, and confirmed before it runs."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gossamer.base.errors import UsageError
from gossamer.cli import app
from gossamer.cli.confirm import confirms
from gossamer.config import Settings, dump, from_json, loads, override, to_json
from gossamer.crawler.start import CrawlRequest, prepare
from gossamer.plugins import trust
from gossamer.plugins.find import Plugin, find, installed, load
from gossamer.plugins.kinds import KINDS
from gossamer.plugins.trust import UnconfirmedError, require_confirmed

CODE = "def extract(page):\n    return {'title': page.title}\n\nextract.columns = {'title': 'text'}\n"


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a plug-in, and a user without confirmations."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (tmp_path / "web").mkdir()
    (tmp_path / "web" / "my.py").write_text(CODE)
    return tmp_path / "web"


def named(own: Path, *names: str) -> tuple[Plugin, ...]:
    return find(loads(f"[plugins]\nprocess = {json.dumps(names)}").plugins, own)


def test_one_name_needs_no_list_and_survives() -> None:
    one = loads("[plugins]\nprocess = 'my.py:extract'")
    assert one.plugins.process == ("my.py:extract",)
    assert one == override(Settings(), ["plugins.process=my.py:extract"]) == loads(dump(one)) == from_json(to_json(one))


def test_every_kind_is_a_setting_and_is_accepted_as_a_name() -> None:
    for name, kind in KINDS.items():
        assert hasattr(Settings().plugins, name)
        assert kind.versions == tuple(sorted(kind.versions))
        with pytest.raises(UsageError, match="is not accepted"):
            loads(f"[plugins]\n{name} = 'my.py extract'")


@pytest.mark.parametrize("name", ["my.py:", ":extract", "my.txt:extract", "my.py:two words"])
def test_a_name_that_is_none_is_refused_with_its_line(name: str) -> None:
    with pytest.raises(UsageError, match="line 3"):
        loads(f"[plugins]\nprocess = [\n  {json.dumps(name)},\n]")


def test_what_is_missing_or_broken_is_named(own: Path) -> None:
    for name, words in (("no.py:extract", "there is no file no.py"), ("schop", "neither built in")):
        with pytest.raises(UsageError, match=words):
            named(own, name)
    (own / "bad.py").write_text("x = 1\n\nraise ValueError('no  luck')\n")
    (own / "odd.py").write_text("def extract(page\n")
    (own / "end.py").write_text("import sys\nsys.exit(3)\nnumber = 3\n")
    (own / "old.py").write_text(CODE + "extract.kind_version = 7\nnumber = 3\n")
    for name, words in (
        ("bad.py:extract", r"ValueError: no luck \(line 3\)"),
        ("odd.py:extract", r"SyntaxError.*\(line 1\)"),
        ("end.py:extract", r"SystemExit: 3 \(line 2\)"),
        ("old.py:extract", "version 7 of its kind"),
        ("old.py:extrakt", "Did you mean extract"),
        ("old.py:number", "number is not a Processor"),
    ):
        with pytest.raises(UsageError, match=words):
            load(named(own, name)[0])


def test_a_file_runs_once_for_all_that_it_has(own: Path) -> None:
    (own / "two.py").write_text(CODE + "class Counter:\n    def __call__(self, page):\n        return None\n")
    first, second = (load(each) for each in named(own, "two.py:extract", "two.py:Counter"))
    assert sys.modules[first.__module__ if hasattr(first, "__module__") else ""] is not None
    assert first.__globals__["Counter"] is type(second), "one module"


def test_an_entry_point_is_found_and_runs_only_when_it_is_named(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = own.parent / "installed"
    information = folder / "shop-1.2.dist-info"
    information.mkdir(parents=True)
    (folder / "shop_plugin.py").write_text(CODE)
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: shop\nVersion: 1.2\n")
    (information / "entry_points.txt").write_text("[gossamer.plugins]\nprocess.shop = shop_plugin:extract\n")
    monkeypatch.syspath_prepend(str(folder))
    (found,) = [each for each in installed(KINDS["process"]) if each.package == "shop 1.2"]
    assert found == Plugin("process", "shop", package="shop 1.2")
    assert "shop_plugin" not in sys.modules
    assert load(named(own, "shop")[0]).columns == {"title": "text"}
    require_confirmed(named(own, "shop"))  # what is installed needs no confirmation
    with pytest.raises(UsageError, match="Did you mean shop"):
        named(own, "shopp")


# --- confirmation --------------------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 5)), max_size=12), st.integers(0, 5))
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_only_confirmed_content_is_confirmed(own: Path, steps: list[tuple[bool, int]], last: int) -> None:
    """Whatever was confirmed and withdrawn in between, and whatever the file had before."""
    trust.place().unlink(missing_ok=True)
    known = set[int]()
    file = own / "changing.py"

    def became(content: int) -> Plugin:
        file.write_text(f"{CODE}# {content}\n")
        return named(own, "changing.py:extract")[0]

    for adds, content in steps:
        plugin = became(content)
        if adds:
            trust.confirm({plugin.digest: plugin.path})
            known.add(content)
        else:
            trust.withdraw({plugin.digest: plugin.path})
            known.clear()  # the file is withdrawn, whatever was in it
    plugin = became(last)
    if last in known:
        require_confirmed([plugin])
    else:
        with pytest.raises(UnconfirmedError, match="is not confirmed"):
            require_confirmed([plugin])


def test_a_crawl_of_a_copied_collection_runs_no_code(own: Path) -> None:
    """The error names the command that confirms; a file that changes must be confirmed again, even while it starts."""
    ran = own.parent / "ran"
    (own / "my.py").write_text(f"open({str(ran)!r}, 'w')\n{CODE}")
    (own / "crawl.toml").write_text("[plugins]\nprocess = 'my.py:extract'\n")
    request = CrawlRequest(own, ("http://127.0.0.1/",))
    with pytest.raises(UnconfirmedError) as error:
        prepare(request, print)
    assert error.value.cure == f"Read it, then: gossamer plugins --confirm {own / 'my.py'}"
    done = CliRunner().invoke(app, ["plugins", "--confirm", str(own / "my.py")])
    assert done.exit_code == 0, done.output
    assert not ran.exists()
    assert prepare(request, print).plugins == named(own, "my.py:extract")
    ran.unlink()  # once it is confirmed, it is loaded to see which columns it has
    (plugin,) = named(own, "my.py:extract")
    (own / "my.py").write_text(CODE + "# more\n")
    with pytest.raises(UnconfirmedError):
        prepare(request, print)
    with pytest.raises(UsageError, match="has changed since"):
        load(plugin)
    assert not ran.exists()


def test_a_list_that_others_may_change_counts_for_nothing(own: Path) -> None:
    trust.confirm({plugin.digest: plugin.path for plugin in named(own, "my.py:extract")})
    assert trust.place().stat().st_mode & 0o777 == 0o600
    os.chmod(trust.place(), 0o620)
    with pytest.raises(UsageError, match="other users may read or change"):
        require_confirmed(named(own, "my.py:extract"))
    os.chmod(trust.place(), 0o600)
    trust.place().write_text("not a list\n")
    with pytest.raises(UsageError, match="not a list of confirmed files"):
        require_confirmed(named(own, "my.py:extract"))


def test_the_user_is_asked_for_each_file(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (own / "other.py").write_text(CODE + "# other\n")
    both = named(own, "my.py:extract", "other.py:extract")
    answers = iter((True, False, True))
    monkeypatch.setattr("click.confirm", lambda *_, **__: next(answers))
    assert not confirms(both)
    require_confirmed(both[:1])
    with pytest.raises(UnconfirmedError, match=r"other\.py is not"):
        require_confirmed(both)
    assert confirms(both[1:])
    require_confirmed(both)


def test_the_command_lists_and_withdraws(own: Path) -> None:
    (own / "crawl.toml").write_text("[plugins]\nprocess = 'my.py:extract'\n")

    def said(*words: str) -> str:
        done = CliRunner().invoke(app, ["plugins", *words])
        assert done.exit_code == 0, done.output
        return done.output

    assert "process (version 1): sees every page" in said()
    assert "not confirmed" in said(str(own))
    assert json.loads(said(str(own), "--confirm", "--json"))["plugins"][0]["confirmed"] is True
    assert "not confirmed" in said(str(own), "--withdraw")
    assert isinstance(CliRunner().invoke(app, ["plugins", "--confirm"]).exception, UsageError)
