"""The figures of crawls for Prometheus. Names follow its conventions: base units, and _total for counters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from gossamer.serve.subjects.overview import Overview


class _Crawls(Collector):
    def __init__(self, found: Iterable[Overview]) -> None:
        self._found = list(found)

    def collect(self) -> Iterator[Metric]:
        yield from self._gauges()
        by = ["collection"]
        for name, text, value in (
            ("gossamer_visits", "Requests for pages.", lambda o: o.counts.visits),
            ("gossamer_stored_pages", "Pages whose content was stored.", lambda o: o.counts.stored),
            ("gossamer_received_bytes", "Bytes off the wire.", lambda o: o.counts.bytes),
        ):
            counter = CounterMetricFamily(name, text, labels=by)
            for one in self._found:
                counter.add_metric([one.name], value(one))  # type: ignore[no-untyped-call]
            yield counter
        outcomes = CounterMetricFamily("gossamer_outcomes", "Requests for pages by outcome.", labels=[*by, "outcome"])
        for one in self._found:
            for outcome, count in one.outcomes.items():
                outcomes.add_metric([one.name, outcome], count)
        yield outcomes

    def _gauges(self) -> Iterator[Metric]:
        states = GaugeMetricFamily("gossamer_known_pages", "Known pages by state.", labels=["collection", "state"])
        for one in self._found:
            for part in one.states:
                states.add_metric([one.name, part.name], part.pages)
        yield states
        waiting = GaugeMetricFamily(
            "gossamer_waiting_pages", "Pages that wait, by reason.", labels=["collection", "reason"]
        )
        for one in self._found:
            for reason, pages in one.reasons.get("waiting", {}).items():
                waiting.add_metric([one.name, reason], pages)
        yield waiting
        for name, text, value in (
            ("gossamer_up", "Whether a crawl runs.", lambda o: int(o.running)),
            ("gossamer_sites", "Known sites.", lambda o: o.counts.sites),
            ("gossamer_slowed_sites", "Sites whose waits are longer than usual.", lambda o: o.counts.slowed),
            ("gossamer_connections", "Open connections.", lambda o: o.use.connections),
            ("gossamer_memory_bytes", "Memory of all processes of the crawl.", lambda o: o.use.memory),
            ("gossamer_disk_free_bytes", "What is free where the collection is.", lambda o: o.use.disk_free),
            ("gossamer_granted_bytes_per_second", "Bandwidth that is granted; absent: no limit.", _granted),
            ("gossamer_freshness_ratio", "Expected share of copies that are up to date.", lambda o: o.freshness),
            ("gossamer_index_value", "V(I), the value of the index.", lambda o: o.value[-1][1] if o.value else None),
            ("gossamer_time_left_seconds", "Time left, at least; absent: unknown.", lambda o: o.pace.left),
            ("gossamer_faults", "Things that are wrong with the machine or the line.", lambda o: len(o.faults)),
            ("gossamer_status_timestamp_seconds", "Wall time of these figures.", lambda o: o.time),
        ):
            gauge = GaugeMetricFamily(name, text, labels=["collection"])
            for one in self._found:
                if (number := value(one)) is not None:
                    gauge.add_metric([one.name], number)
            yield gauge


def _granted(found: Overview) -> float | None:
    use = found.use.bandwidth
    return float(use["granted"]) if use and use.get("granted") else None


def exposed(found: Iterable[Overview]) -> bytes:
    """The text that Prometheus reads."""
    registry = CollectorRegistry()
    registry.register(_Crawls(found))
    return generate_latest(registry)
