"""`gossamer web`: serves the demonstration Web or the hostile Web, and shows how to crawl it. `gossamer check`: checks
the politeness of a crawl by the access log of a server."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gossamer.base.errors import StorageError, UsageError
from gossamer.base.escape import for_json
from gossamer.cli.command import PATH, argument, command, flag

if TYPE_CHECKING:
    from gossamer.webs.demo import DemoWeb
    from gossamer.webs.hostile.web import HostileWeb

SHOWN = 50
"""Maximum number of violations that are printed."""


@command
@flag("--hostile", help="Serve the hostile Web instead: one site for each kind of misbehaviour.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, help="Port on each of its addresses; 0: any free port."
)
@click.option(
    "--sites", type=click.IntRange(min=1), default=120, help="Number of sites, without mirrors and dead sites."
)
@click.option("--pages", type=click.IntRange(min=1), default=20_000, help="Number of pages.")
@click.option("--seed", default=1, help="The same seed makes the same Web.")
@click.option(
    "--without",
    metavar="KINDS",
    default="",
    show_default=False,
    help="Kinds to leave out, by their names in --list: calendars,mirrors,tls",
)
@click.option(
    "--with",
    "with_",
    metavar="KIND=N,…",
    default="",
    show_default=False,
    help="Number or share of sites of a kind: silent=2; with --hostile: names of sites.",
)
@click.option(
    "--speed",
    type=click.FloatRange(0, 100_000),
    default=0.0,
    help="Let pages change, move, vanish and return, this many times as fast as in life: 1440 is a day in a minute. 0: "
    "nothing changes.",
)
@flag("--list", "only_list", help="List the kinds with their counts, and exit.")
@click.option(
    "--against",
    type=PATH,
    metavar="DIR",
    help="Compare a crawl of this Web with its content, or with its life (--speed), and exit.",
)
@flag("--json", "as_json", help="With --list or --against: print one JSON object.")
@click.option("--log", type=PATH, help="Write an access log here, for `gossamer check`.")
@click.option("--settings", type=PATH, default=Path("web.toml"), help="Write settings for a crawl here.")
def web(
    hostile: bool,
    port: int,
    sites: int,
    pages: int,
    seed: int,
    without: str,
    with_: str,
    speed: float,
    only_list: bool,
    against: Path | None,
    as_json: bool,
    log: Path | None,
    settings: Path,
) -> None:
    """Serve the demonstration Web until Ctrl-C: a hundred sites on loopback addresses (127.x.y.z) of this machine."""
    from gossamer.webs import demo
    from gossamer.webs.hostile import table
    from gossamer.webs.hostile.web import HostileWeb

    made: DemoWeb | HostileWeb
    if hostile and speed:
        raise UsageError("the hostile Web does not change", "Leave out --hostile or --speed.")
    if hostile:
        made = HostileWeb(table.chosen(_parts(with_), _parts(without)))
    else:
        made = demo.DemoWeb(seed, sites, pages, largest=max(2_000, pages // sites + 1), speed=speed)
        made = demo.having(demo.without(made, _parts(without)), _parts(with_))
    if only_list:
        _list(made, as_json)
    elif against is not None:
        _compare(made, against, as_json)
    else:
        _serve(made, port, log, settings)


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _list(made: DemoWeb | HostileWeb, as_json: bool) -> None:
    from gossamer.webs.demo.kinds import ABOUT, counts, lines
    from gossamer.webs.demo.life import counted
    from gossamer.webs.hostile import table
    from gossamer.webs.hostile.web import HostileWeb

    if isinstance(made, HostileWeb):
        print(json.dumps(table.as_json(made.names)) if as_json else "\n".join(table.lines(made.names)))
        return
    found = counts(made)
    described = {kind: asdict(count) | {"what": ABOUT[kind]} for kind, count in found.items()}
    lives = counted(made.life.habits) if made.speed else {}
    print(json.dumps(described | lives) if as_json else "\n".join(lines(found)))
    for sort, kinds in lives.items() if not as_json else ():
        print(f"sites by {sort}:")
        for kind, number in kinds.items():
            print(f"  {number:>6,}  {kind}")


def _compare(made: DemoWeb | HostileWeb, folder: Path, as_json: bool) -> None:
    from gossamer import config
    from gossamer.collection.layout import SETTINGS, require_collection
    from gossamer.webs import coverage
    from gossamer.webs.hostile.web import HostileWeb

    require_collection(folder)
    if isinstance(made, HostileWeb):
        ends = coverage.compare_ends(made, coverage.ends(folder))
        print(json.dumps(asdict(ends)) if as_json else "\n".join(coverage.lines_of_ends(ends)))
        if ends.wrong or ends.missing:
            sys.exit(1)
        return
    if made.speed:
        lived = coverage.judge(made, folder)
        print(json.dumps(coverage.as_json(lived)) if as_json else "\n".join(coverage.lines_of_life(lived)))
        return
    settings, found = config.load(folder / SETTINGS), coverage.fates(folder)
    compared = coverage.compare(coverage.as_served(made, found), found, coverage.depth_of(settings))
    print(json.dumps(asdict(compared)) if as_json else "\n".join(coverage.lines(compared)))


def _serve(requested: DemoWeb | HostileWeb, port: int, log: Path | None, settings: Path) -> None:
    import asyncio

    from gossamer.webs.demo import certificates, server
    from gossamer.webs.demo.access import AccessLog
    from gossamer.webs.hostile import server as hostile_server
    from gossamer.webs.hostile.web import HostileWeb

    hostile = isinstance(requested, HostileWeb)
    certified: Any = hostile_server.certified if hostile else certificates.certified
    serve: Any = hostile_server.serve if hostile else server.serve
    run = asyncio.run if hostile else server.run
    with certified(requested) as (made, certificate):
        if made.tls != requested.tls:
            print("No site uses https: neither the openssl program nor the cryptography package is installed.")

        def ready(at: int) -> None:
            _prepare(made, at, certificate.trusted if certificate else None, settings)
            _explain(made, at, log, settings)

        try:
            run(serve(made, port, AccessLog(log, made), certificate, ready))
        except OSError as error:
            cure = "Name writable files with --log and --settings."
            raise StorageError(f"{error.filename}: {error.strerror}", cure) from error


def _prepare(made: DemoWeb | HostileWeb, port: int, authority: Path | None, settings: Path) -> None:
    """Writes the settings, the seeds, and the certificate to trust."""
    from gossamer.webs.hostile.web import HostileWeb

    trusted = settings.with_suffix(".pem")
    if authority:
        trusted.write_bytes(authority.read_bytes())
    name = str(trusted.absolute()) if authority else ""
    hostile = isinstance(made, HostileWeb)
    hasty = not isinstance(made, HostileWeb) and made.silent > 0
    settings.write_text(settings_for(made.domains, made.resolve(port), name, hasty=hasty, hostile=hostile))
    settings.with_suffix(".seeds").write_text("".join(f"{url}\n" for url in made.seeds))


def _explain(made: DemoWeb | HostileWeb, port: int, log: Path | None, settings: Path) -> None:
    from gossamer.webs.hostile.web import HostileWeb

    seeds = settings.with_suffix(".seeds")
    if isinstance(made, HostileWeb):
        name, folder = "hostile", "hostile-crawl"
        print(f"{len(made.seeds):,} sites, each hostile in its own way, listen on port {port}; --list describes them.")
    else:
        name, folder = "demonstration", "demo-crawl"
        print(f"{len(made.all_sites):,} sites with {made.pages:,} pages or more listen on port {port}.")
        if made.speed:
            print(f"They live: {made.speed:g} seconds of their life pass in one. Judge a crawl of them:")
            print(f"\n    gossamer web --speed {made.speed:g} --against {folder}\n")
    print(f"Crawl them from another terminal:\n\n    gossamer crawl {folder} --seeds {seeds} --config {settings}\n")
    if isinstance(made, HostileWeb):
        print(f"Check the outcomes of their pages:\n\n    gossamer web --hostile --against {folder}\n")
    if log:
        print(f"Check the politeness of the crawl:\n\n    gossamer check {log} --config {settings}\n")
    print(f"Ctrl-C stops the {name} Web.", flush=True)


def settings_for(
    domains: list[str], resolve: dict[str, str], trusted: str = "", hasty: bool = False, hostile: bool = False
) -> str:
    """A crawl.toml for these Webs. Waits are short, because all sites are ours. `hasty`: some sites never answer, so
    the timeout is short."""
    from gossamer.config.values import write
    from gossamer.webs.hostile.web import LIMITS

    missing = {f"*.{domain}": "none" for domain in domains}
    limits = "".join(f"{name} = {write(value)}\n" for name, value in LIMITS.items()) if hostile else ""
    rows = "".join(f'"{host}" = "{place}"\n' for host, place in {**resolve, **missing}.items())
    return (
        f"[seeder]\ndomains = {json.dumps(domains)}\n\n"
        "[harvester]\nallow_private = true\n"
        'wait = "50ms"\nwait_large = "10ms"\naddress_wait = "10ms"\npause = "10ms"\n'
        + ('first_byte_timeout = "3s"\n' if hasty else "")
        + limits
        + (f"trusted = {json.dumps(trusted)}\n" if trusted else "")
        + f"\n[harvester.resolve]\n{rows}"
    )


@command
@argument("logs", "LOG…", "Access logs of `gossamer web` or of nginx.", nargs=-1, required=True)
@click.option(
    "--config", type=PATH, required=True, help="Settings of the crawl: its crawl.toml, or the folder of its collection."
)
@click.option(
    "--robots",
    type=PATH,
    help="For a log of nginx: folder with HOST/robots.txt; robots.txt.20261117T051400Z is valid from that time.",
)
@click.option("--kill", type=float, multiple=True, help="Time at which the crawl was killed, by the clock of the log.")
@click.option("--lost", default=1.5, help="Seconds before a kill in which answers may be lost.")
@click.option("--agent", help="Check only requests whose User-Agent contains this.")
@flag("--wall", help="Use the wall clock of a `gossamer web` log.")
@flag("--json", "as_json", help="Print one JSON object.")
def check(
    logs: tuple[Path, ...],
    config: Path,
    robots: Path | None,
    kill: tuple[float, ...],
    lost: float,
    agent: str | None,
    wall: bool,
    as_json: bool,
) -> None:
    """Report every request in LOG that came too early, in parallel or against robots.txt; exit code 1 if any did."""
    from gossamer.webs import checker

    described = next((web for web in map(checker.web_of, logs) if web), None)
    if robots:
        robots_of = checker.robots_in(robots)
    else:
        robots_of = checker.robots_of_web(described) if described else lambda _request: None
        if wall and described and described.changing:
            raise UsageError("the robots.txt files of this Web change by the monotonic clock", "Leave out --wall.")
    requests = (r for r in checker.read_all(logs, wall=wall) if agent is None or agent in r.agent)
    report = checker.check(requests, checker.settings_at(config), robots_of, kill, lost=lost)
    if as_json:
        print(for_json(report.as_json()))
    else:
        for violation in report.violations[:SHOWN]:
            print(violation)
        if report.total > SHOWN:
            print(f"… and {report.total - SHOWN:,} more (--json prints the first thousand of each kind). The worst:")
            for violation in report.worst.values():
                print(violation)
        print(report.verdict)
    if not report.is_polite:
        sys.exit(1)
