"""The operator's key and the proofs that are made with it."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from gossamer.base.errors import UsageError
from gossamer.web.owner import advice
from gossamer.web.owner.key import Key, claim, place, read, site_of, write
from gossamer.web.owner.proof import LIMIT, MOST, line, shown

NAMES = st.from_regex(r"[a-z0-9]{1,8}(\.[a-z0-9]{1,8}){1,3}", fullmatch=True)
SECRETS = st.binary(min_size=32, max_size=32)


@examples(max_examples=200, deadline=None)
@given(secret=SECRETS, other=SECRETS, site=NAMES, another=NAMES)
def test_a_proof_holds_for_its_own_site_and_key_alone(secret: bytes, other: bytes, site: str, another: str) -> None:
    key = Key(secret, frozenset({site, another}))
    proof = key.proof(site)
    assert key.proves(site, shown(f"User-agent: *\n{line(proof)}\r\nDisallow:".encode()))
    assert key.proves(f"www.{site}", [proof]) or key.proof(f"www.{site}") != proof
    assert key.proves(another, [proof]) == (site == another)
    assert Key(other, key.sites).proves(site, [proof]) == (secret == other)
    assert not Key(secret).proves(site, [proof]), "the operator does not claim it"
    assert secret.hex() not in proof


@examples(max_examples=50, deadline=None)
@given(secret=SECRETS, sites=st.frozensets(NAMES, max_size=5))
def test_a_key_that_was_written_is_read_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, secret: bytes, sites: frozenset[str]
) -> None:
    path = tmp_path_factory.mktemp("key") / "folder" / "mine.key"
    write(path, Key(secret, sites))
    assert read(path) == Key(secret, sites)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@examples(max_examples=200, deadline=None)
@given(st.binary(max_size=300))
def test_any_file_may_be_looked_at(body: bytes) -> None:
    assert all(len(each) == 64 for each in shown(body))


def test_a_line_is_found_as_a_comment_or_not_and_in_any_case() -> None:
    proof = "ab" * 32
    for text in (f"# gossamer-mine: {proof}", f"Gossamer-Mine: {proof.upper()}", f"\t#gossamer-mine:{proof}  "):
        assert shown(f"x\r\n{text}\r\ny".encode()) == [proof]
    for text in (f"gossamer-mine: {proof}0", f"gossamer-mine: {proof[1:]}", f"x gossamer-mine: {proof}"):
        assert shown(text.encode()) == []
    assert len(shown(f"{line(proof)}\n".encode() * 9)) == MOST
    assert shown(b"\n" * LIMIT + line(proof).encode()) == []


def test_a_key_is_made_once_and_sites_are_claimed_and_forgotten(tmp_path: Path) -> None:
    path = tmp_path / "mine.key"
    first = claim(path, ["a.example"])
    second = claim(path, ["b.example"])
    assert second.secret == first.secret
    assert second.sites == {"a.example", "b.example"}
    assert claim(path, forget=["a.example"]).sites == {"b.example"} == read(path).sites
    with pytest.raises(UsageError, match=r"c\.example is not claimed"):
        claim(path, forget=["c.example"])


def test_a_key_that_is_missing_damaged_or_open_to_others_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "mine.key"
    with pytest.raises(UsageError, match=r"there is no key\nMake one with `gossamer mine SITE`"):
        read(path)
    write(path, Key(b"x" * 32))
    path.chmod(0o640)
    with pytest.raises(UsageError, match=r"other users may read or change this key\nchmod 600"):
        read(path)
    path.chmod(0o600)
    for text in ("", "gossamer-mine-key 1 abc", "gossamer-mine-key 2 " + "0" * 64, "é"):
        path.write_text(text)
        with pytest.raises(UsageError, match=r"mine\.key"):
            read(path)


def test_the_place_of_the_key_is_the_settings_or_the_users(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert place() == tmp_path / "gossamer" / "mine.key"
    assert place("/x/y.key") == Path("/x/y.key")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("www.Example.org", "example.org"),
        ("https://example.org/a?b", "example.org"),
        ("http://bücher.example:8080/", "xn--bcher-kva.example"),
    ],
)
def test_a_site_is_named_by_host_or_url(text: str, name: str) -> None:
    assert site_of(text) == name


def test_what_is_no_site_is_refused() -> None:
    with pytest.raises(UsageError, match="not a site"):
        site_of("ftp://example.org/")


def test_the_advice_has_the_line_and_both_places() -> None:
    key = Key(b"x" * 32, frozenset({"a.example"}))
    text = "\n".join(advice.lines(key, Path("mine.key"), ["a.example"]))
    assert line(key.proof("a.example")) in text
    told = advice.as_json(key, Path("mine.key"), ["a.example"])["sites"]["a.example"]
    assert told["line"] == line(key.proof("a.example"))
    assert told["robots"] in text
    assert told["well_known"] in text
    assert key.secret.hex() not in text
