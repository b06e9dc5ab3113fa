"""From lines to sessions: each rule of 5.3 at a log where it makes a difference."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from gossamer.base.errors import UsageError
from gossamer.laboratory.sessions import spool
from gossamer.laboratory.sessions.gather import Asked, Client, Gathered, gather
from gossamer.laboratory.sessions.judge import Left
from gossamer.laboratory.sessions.made import AGENT, START, stamp
from gossamer.laboratory.sessions.texts import joined, none, parts
from gossamer.laboratory.sessions.trace import (
    ACTIONS,
    ADDED_BACK,
    ADDED_FIRST,
    EXPIRED,
    FRAMED,
    LEVELS,
    RELOADED,
    Site,
    pair,
)

HERE = "http://e.example"


def line(
    target: str,
    referer: str = "-",
    at: int = 0,
    address: str = "192.0.2.1",
    agent: str = AGENT,
    status: int = 200,
    method: str = "GET",
) -> str:
    named = HERE + referer if referer.startswith("/") else referer
    return f'{address} - - [{stamp(START + at)}] "{method} {target} HTTP/1.1" {status} 5 "{named}" "{agent}"'


Read = Callable[..., Gathered]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    def reading(*lines: str, site: Site | None = None, **more: object) -> Gathered:
        path = tmp_path / "access.log"
        path.write_text("".join(f"{each}\n" for each in lines))
        asked = Asked(("e.example",), site=lambda hosts: site or Site(np.zeros(0, "u8"), np.zeros(0, "u8")), **more)  # type: ignore[arg-type]
        return gather([path], "e", asked)

    return reading


def levels(found: Gathered) -> list[int]:
    visits = found.counts.visits.sum(0)
    return visits[: found.counts.deepest + 1].tolist()  # type: ignore[no-any-return]


def lengths(found: Gathered) -> dict[int, int]:
    counted = found.counts.lengths.sum(0)
    return {int(n): int(counted[n]) for n in np.flatnonzero(counted)}


def actions(found: Gathered) -> dict[tuple[int, str], int]:
    counted = found.counts.actions.sum(0)
    return {(int(level), ACTIONS[a]): int(counted[level, a]) for level, a in zip(*np.nonzero(counted), strict=True)}


def pairs(*links: tuple[str, str]) -> np.ndarray:
    ends = [parts(joined(e.encode() for e in side), none(len(links))).page for side in zip(*links, strict=True)]
    return np.unique(pair(ends[0], ends[1]))


def test_a_session_has_levels_by_clicks(read: Read) -> None:
    found = read(line("/"), line("/a", "/", 10), line("/b", "/a", 20), line("/c", "/b", 30))
    assert levels(found) == [1, 1, 1, 1]
    assert lengths(found) == {4: 1}
    assert found.counts.home == 1
    assert actions(found) == {(0, "Next"): 1, (1, "Next"): 1, (2, "Next"): 1, (3, "Jump"): 1}


def test_lines_of_a_client_are_sorted_by_time(read: Read) -> None:
    """Rule 1."""
    lines = [line("/"), line("/a", "/", 10), line("/b", "/a", 20)]
    assert levels(read(*reversed(lines))) == levels(read(*lines)) == [1, 1, 1]


def test_only_pages_and_documents_that_were_answered_count(read: Read) -> None:
    """Rule 2."""
    found = read(
        line("/"), line("/s.css", "/"), line("/i.PNG?v=2", "/"), line("/a", "/", method="POST"),
        line("/a", "/", method="HEAD"),
        line("/gone", "/", status=404), line("/moved", "/", status=301), line("/doc.pdf", "/", 5, status=206),
        line("/a.html", "/", 9, status=304), line("/feed.xml", "/"),
    )  # fmt: skip
    left = {Left(i).name: int(n) for i, n in enumerate(found.left) if n}
    assert left == {"VIEW": 3, "PART": 3, "METHOD": 2, "STATUS": 2}
    assert found.counts.visited == 4, "between the two documents the user went back to /"
    assert levels(found) == [2, 2]


def test_a_session_ends_after_half_an_hour(read: Read) -> None:
    """Rule 3."""
    found = read(line("/"), line("/a", "/", 1800), line("/b", "/a", 3601), line("/", "-", 9_000))
    assert lengths(found) == {1: 1, 2: 2}
    assert found.counts.told[EXPIRED] == 2
    assert found.counts.told[ADDED_FIRST] == 1, "/a is where the second session began"
    assert lengths(read(line("/"), line("/a", "/", 1800), timeout=60)) == {1: 1, 2: 1}


def test_another_user_agent_is_another_session(read: Read) -> None:
    """Rule 4."""
    other = AGENT.replace("115", "116")
    found = read(line("/"), line("/", at=1, agent=other), line("/a", "/", 2), line("/b", "/", 3, agent=other))
    assert lengths(found) == {2: 2}
    assert (found.addresses, found.shared) == (1, 1)


def test_a_page_that_is_loaded_again_is_one_view(read: Read) -> None:
    """Rule 5."""
    found = read(line("/"), line("/", at=5), line("/a", "/", 6), line("/a", "/", 7), line("/a", "/", 8))
    assert lengths(found) == {2: 1}
    assert found.counts.told[RELOADED] == 3


def test_frames_are_one_page(read: Read) -> None:
    """Rule 6."""
    lines = line("/"), line("/menu", "/", 1), line("/text", "/", 1), line("/a", "/menu", 9)
    site = Site(pairs(("/", "/menu"), ("/", "/text"), ("/menu", "/a")), pairs(("/", "/menu"), ("/", "/text")))
    assert lengths(read(*lines)) == {6: 1}
    found = read(*lines, site=site)
    assert found.counts.told[FRAMED] == 2
    assert lengths(found) == {2: 1}, "a click in a frame is a click on the page"


def test_web_applications_are_left_out(read: Read) -> None:
    """Rule 7."""
    found = read(line("/"), line("/wp-admin/post.php", "/", 1), line("/forum/post", "/", 2), ignored=("/forum",))
    assert found.left[Left.APPLICATION] == 2
    assert lengths(found) == {1: 1}


def test_steps_back_from_the_cache_are_added(read: Read) -> None:
    """Rule 8."""
    found = read(line("/"), line("/a", "/", 1), line("/b", "/a", 2), line("/c", "/", 3))
    assert found.counts.told[ADDED_BACK] == 1
    assert levels(found) == [2, 2, 1]
    assert actions(found) == {(0, "Next"): 2, (1, "Next"): 1, (2, "Start"): 1, (1, "Jump"): 1}


def test_a_first_page_from_the_cache_is_added(read: Read) -> None:
    found = read(line("/b", "/", 2), line("/c", "/b", 3))
    assert found.counts.told[ADDED_FIRST] == 1
    assert levels(found) == [1, 1, 1]
    assert found.counts.home == 1


def test_a_step_back_that_was_requested_is_no_click(read: Read) -> None:
    found = read(line("/"), line("/a", "/", 1), line("/b", "/a", 2), line("/a", "/", 3), line("/c", "/a", 4))
    assert levels(found) == [1, 2, 2]
    assert actions(found)[2, "Back"] == 1
    assert found.counts.told[ADDED_BACK] == 0


def test_a_link_to_the_first_page_leads_to_level_0(read: Read) -> None:
    found = read(line("/"), line("/a", "/", 1), line("/b", "/a", 2), line("/", "/b", 3))
    assert levels(found) == [2, 1, 1]
    assert actions(found)[2, "Start"] == 1


def test_users_behind_one_address_are_told_apart_by_referers(read: Read) -> None:
    found = read(
        line("/"), line("/x", "http://other.example/", 1), line("/a", "/", 2), line("/y", "/x", 3), line("/b", "/a", 4)
    )
    assert lengths(found) == {2: 1, 3: 1}


def test_levels_are_the_least_number_of_clicks_by_the_links_of_the_site(read: Read) -> None:
    lines = line("/"), line("/a", "/", 1), line("/b", "/a", 2), line("/c", "/b", 3)
    assert levels(read(*lines, site=Site(pairs(("/", "/b"), ("/", "/c")), pairs(("/x", "/y"))))) == [1, 3]


def test_a_page_without_referer_follows_by_the_links_of_the_site(read: Read) -> None:
    lines = line("/"), line("/a", "/", 1), line("/b", at=2), line("/z", at=3)
    assert lengths(read(*lines)) == {1: 2, 2: 1}
    assert lengths(read(*lines, site=Site(pairs(("/a", "/b")), pairs(("/x", "/y"))))) == {1: 1, 3: 1}


def test_a_log_without_referers_is_read_click_after_click(read: Read) -> None:
    found = read(
        *(each.rpartition(' "-"')[0] for each in (line("/"), line("/a", at=1), line("/b", at=2), line("/a", at=3)))
    )
    assert not found.has_referers
    assert levels(found) == [1, 2, 1]


@pytest.mark.parametrize(
    ("who", "lines"),
    [
        (Client.ROBOTS_TXT, [line("/robots.txt"), line("/a")]),
        (Client.NAMED, [line("/a", agent="Examplebot/2.1 (+http://e.example/)")]),
        (Client.NAMED, [line("/a", agent="-"), line("/", address="192.0.2.7")]),
        (Client.ATTACKER, [line("/scripts/..%2f../winnt/system32/cmd.exe"), line("/a")]),
        (Client.ATTACKER, [line("/a"), line(f"/{'A' * 3_000}", status=414)]),
        (Client.ATTACKER, [line(f"/{n}.php", at=n, status=404) for n in range(30)] + [line("/a")]),
        (Client.HEADS, [line("/a"), *(line("/a", method="HEAD") for _ in range(3))]),
        (Client.QUICK, [line(f"/{n + 1}", f"/{n}", n) for n in range(40)]),
        (Client.ENDLESS, [line(f"/{n + 1}", f"/{n}", 60 * n) for n in range(600)]),
        (Client.PRETENDING, [line("/a", "/"), line("/i.png", "/", address="192.0.2.9"),
                             line("/", address="192.0.2.9"), line("/b", "/", address="192.0.2.9")]),
        (Client.BLIND, [line(f"/{n}", at=60 * n) for n in range(9)]
         + [line("/i.png", "/", address="192.0.2.9")] + [line("/", address="192.0.2.9")]),
    ],
)  # fmt: skip
def test_who_is_no_user_is_left_out(who: Client, lines: list[str], read: Read) -> None:
    found = read(*lines)
    assert found.clients[who] == 1, found.clients
    assert found.views[who] >= 1
    assert found.counts.visited == found.views[Client.USER]


def test_every_line_is_in_one_row(read: Read) -> None:
    found = read(
        line("/"), "nonsense", line("/robots.txt"), line("/x", status=500), line("/i.png"), line("/wp-login.php")
    )
    assert found.left.sum() == found.lines == 6
    assert found.left[Left.VIEW] == found.views.sum()
    assert found.bad[0].endswith("access.log, line 2")


def test_the_names_of_the_site_are_learned(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    search = "http://search.example/?q=e"
    lines = [line("/a", search, n, f"192.0.2.{n}") for n in range(30)]
    lines += [line("/i.png", "http://www.e.example/a", n, f"192.0.2.{n}") for n in range(30)]
    path.write_text("\n".join(lines))
    assert list(gather([path], "a").hosts) == ["e.example"]


def test_what_waits_on_disk_gives_the_same_as_what_waits_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read: Read
) -> None:
    lines = [line(f"/{n % 7}", f"/{n % 5}", n, f"192.0.2.{n % 50}") for n in range(2_000)]
    whole = read(*lines)
    monkeypatch.setattr(spool.Spool.__init__, "__defaults__", (1_000,))
    again = read(*lines)
    assert (again.counts.visits == whole.counts.visits).all()
    assert (again.counts.actions == whole.counts.actions).all()
    assert (again.left == whole.left).all()


def test_lines_keep_their_order_within_what_times_are_exact_to(read: Read) -> None:
    """The public log of a blog has times whose minutes are all the same, and seconds at random."""
    lines = [line("/", at=50), line("/a", "/", 20), line("/b", "/a", 3_640), line("/c", "/b", 3_605)]
    assert lengths(read(*lines)) != {4: 1}
    assert lengths(read(*lines, precision=3_600, timeout=3_600)) == {4: 1}


def test_times_with_one_minute_only_are_noticed(read: Read) -> None:
    lines = [line("/", at=3_600 * n, address=f"192.0.2.{n}") for n in range(240)]
    assert read(*lines).only_one_minute
    assert not read(*lines, precision=3_600).only_one_minute
    assert not read(*(line("/", at=61 * n, address=f"192.0.2.{n}") for n in range(240))).only_one_minute


def test_a_page_that_leads_to_itself_is_one_view(read: Read) -> None:
    assert lengths(read(line("/a", "/a"), line("/a", "/a", 5))) == {1: 1}


def test_levels_beyond_the_last_count_as_the_last(read: Read) -> None:
    found = read(*(line(f"/{n + 1}", f"/{n}", 60 * n) for n in range(400)))
    assert found.counts.deepest == LEVELS - 1
    assert found.counts.visited == 401


def test_an_empty_log_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("")
    with pytest.raises(UsageError, match="no line"):
        gather([tmp_path / "a.log"], "a")
