"""Names of sites: which sites enter the queue, and what answers to lookups lead to."""

from __future__ import annotations

import numpy as np

from gossamer.base.clock import VirtualClock
from gossamer.base.model import NONE, VISIT, Outcome
from gossamer.collection.journal.effects import SiteEvent
from gossamer.desk.desk import Desk
from gossamer.harvester.clocks import QueueClocks
from gossamer.harvester.names import SiteNames
from gossamer.harvester.queue.queue import SiteQueue
from gossamer.webs.simulated import SimulatedNames
from tests.support.harvesting import desk_of, tell

HOSTS = ("http://a.example/", "http://b.example/", "http://c.example/")
ALL = np.arange(3, dtype=np.uint32)
FOUND = {"a.example": "192.0.2.1", "www.b.example": "192.0.2.2"}


class Named:
    """Sites whose names are looked up, without a Web."""

    def __init__(self, *changes: str) -> None:
        self.desk: Desk = desk_of(HOSTS, *changes)
        self.queue, self.clock = SiteQueue(10, 10), VirtualClock()
        self.server = SimulatedNames(FOUND.get)
        self.names = SiteNames(self.desk, self.queue, self.server, QueueClocks(self.desk, self.queue, self.clock))
        for site in range(3):
            self.queue.set_errand(site, True)

    def hear(self) -> tuple[list[SiteEvent], list[int]]:
        """Takes all answers, as a tick does. Returns the events, and the sites without an address."""
        answers = self.server.answers()
        news = self.names.news(answers, self.clock.wall())
        tell(self.desk, *news)
        return [SiteEvent(each.event) for each in news], self.names.settle(answers)


def test_a_site_enters_the_queue_when_its_name_has_an_address() -> None:
    named = Named()
    named.names.enter(ALL)
    assert (named.server.open, named.queue.queued) == (3, 0)
    named.names.enter(ALL)
    assert named.server.open == 3, "each name is asked for once"
    assert named.hear() == ([SiteEvent.RESOLVED, SiteEvent.RESPELLED, SiteEvent.RESPELLED], [])
    assert named.queue.queued == 1
    assert named.server.open == 2, "the other names of the two"
    assert named.hear() == ([SiteEvent.RESOLVED, SiteEvent.NAME_FAILED], [2])
    assert named.queue.queued == 2
    assert named.desk.columns.site.address[2] == NONE
    named.names.enter(ALL)
    assert named.server.open == 0, "a name that failed waits"


def test_an_answer_about_a_name_that_is_no_longer_used_is_ignored() -> None:
    named = Named()
    named.names.enter(ALL[:1])
    (answer,) = named.server.answers()
    named.desk.columns.site.www[0] = 1
    assert named.names.news([answer], 0.0) == []
    assert named.names.settle([answer]) == []
    assert [each.host for each in named.server.answers()] == ["www.a.example"], "the name in use is asked for"


def test_an_address_is_looked_up_again_after_its_time_and_after_a_start() -> None:
    named = Named()
    named.names.enter(ALL[:1])
    named.hear()
    named.names.enter(ALL[:1])
    assert named.server.open == 0
    named.clock.advance(86_401)
    named.names.enter(ALL[:1])
    assert named.server.open == 1
    named.hear()
    named.names.resume()
    assert named.desk.columns.site.resolved[0] == 0
    named.names.enter(ALL[:1])
    assert named.server.open == 1


def test_only_the_very_first_request_without_an_answer_leads_to_the_other_name() -> None:
    named = Named()
    visits = np.zeros(3, VISIT)
    visits["site"] = ALL
    visits["outcome"] = Outcome.CONNECT_FAILED, Outcome.TLS_FAILED, Outcome.TIMED_OUT
    named.desk.columns.site.asked[:3] = 1
    assert [each.site for each in named.names.other_names(visits)] == [0, 1]
    named.desk.columns.site.asked[0] = 2
    assert [each.site for each in named.names.other_names(visits)] == [1]
