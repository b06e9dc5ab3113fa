"""`gossamer web`: serves the demonstration Web in the foreground, and says how to crawl it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from gossamer.webs.demo import DemoWeb
    from gossamer.webs.hostile.web import HostileWeb


def web(
    hostile: Annotated[
        bool, typer.Option("--hostile", help="Serve the hostile Web in its place: a site for each way to misbehave.")
    ] = False,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on every address of it; 0: any that is free.")] = 0,
    sites: Annotated[int, typer.Option(min=1, help="Number of sites, mirrors and dead ones apart.")] = 120,
    pages: Annotated[int, typer.Option(min=1, help="Number of pages.")] = 20_000,
    seed: Annotated[int, typer.Option(help="The same seed makes the same Web.")] = 1,
    without: Annotated[
        str, typer.Option(metavar="KINDS", help="Kinds to leave out, as --list names them: calendars,mirrors,tls")
    ] = "",
    with_: Annotated[
        str,
        typer.Option("--with", metavar="KIND=N,…", help="So many sites, or such a share: silent=2; --hostile: names."),
    ] = "",
    only_list: Annotated[bool, typer.Option("--list", help="List the kinds with their counts; serve nothing.")] = False,
    against: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Compare a crawl of this Web with what was there; serve nothing.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="With --list or --against: as one JSON object.")] = False,
    log: Annotated[Path | None, typer.Option(help="Access log, for `gossamer check`.")] = None,
    settings: Annotated[Path, typer.Option(help="Where the settings for a crawl are written.")] = Path("web.toml"),
) -> None:
    """Serve the demonstration Web: a hundred sites on this machine's own 127.x.y.z, until Ctrl-C."""
    if hostile:
        _hostile(_parts(with_), _parts(without), only_list, against, as_json, port, log, settings)
        return
    from gossamer.webs import demo

    made = demo.DemoWeb(seed=seed, sites=sites, pages=pages, largest=max(2_000, pages // sites + 1))
    made = demo.having(demo.without(made, _parts(without)), _parts(with_))
    if only_list:
        _list(made, as_json)
    elif against is not None:
        _compare(made, against, as_json)
    else:
        _serve(made, port, log, settings)


def _hostile(
    only: list[str],
    without: list[str],
    only_list: bool,
    against: Path | None,
    as_json: bool,
    port: int,
    log: Path | None,
    settings: Path,
) -> None:
    from gossamer.webs.hostile import table
    from gossamer.webs.hostile.web import HostileWeb

    made = HostileWeb(table.chosen(only, without))
    if only_list:
        print(json.dumps(table.as_json(made.names)) if as_json else "\n".join(table.lines(made.names)))
    elif against is not None:
        _compare_hostile(made, against, as_json)
    else:
        _serve(made, port, log, settings)


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _list(made: DemoWeb, as_json: bool) -> None:
    from dataclasses import asdict

    from gossamer.webs.demo.kinds import ABOUT, counts, lines

    found = counts(made)
    if as_json:
        print(json.dumps({kind: asdict(count) | {"what": ABOUT[kind]} for kind, count in found.items()}))
    else:
        print("\n".join(lines(found)))


def _compare(made: DemoWeb, folder: Path, as_json: bool) -> None:
    from dataclasses import asdict

    from gossamer import config
    from gossamer.collection.layout import SETTINGS, require_collection
    from gossamer.webs import coverage

    require_collection(folder)
    settings = config.load(folder / SETTINGS)
    found = coverage.fates(folder)
    served = coverage.as_served(made, found)
    compared = coverage.compare(served, found, coverage.depth_of(settings))
    print(json.dumps(asdict(compared)) if as_json else "\n".join(coverage.lines(compared)))


def _compare_hostile(made: HostileWeb, folder: Path, as_json: bool) -> None:
    from dataclasses import asdict

    from gossamer.collection.layout import require_collection
    from gossamer.webs import coverage

    require_collection(folder)
    found = coverage.compare_ends(made, coverage.ends(folder))
    print(json.dumps(asdict(found)) if as_json else "\n".join(coverage.lines_of_ends(found)))
    if found.wrong or found.missing:
        raise typer.Exit(1)


def _serve(asked: DemoWeb | HostileWeb, port: int, log: Path | None, settings: Path) -> None:
    from gossamer.base.errors import StorageError
    from gossamer.webs.demo import certificates, server
    from gossamer.webs.demo.access import AccessLog
    from gossamer.webs.hostile import certificates as of_hostile
    from gossamer.webs.hostile import server as hostile_server
    from gossamer.webs.hostile.web import HostileWeb

    hostile = isinstance(asked, HostileWeb)
    certified: Any = of_hostile.certified if hostile else certificates.certified
    run: Any = hostile_server.run if hostile else server.run
    with certified(asked) as (made, certificate):
        if made.tls != asked.tls:
            print("No site speaks https: neither the openssl program nor the cryptography package is installed.")

        def ready(at: int) -> None:
            _prepare(made, at, certificate.trusted if certificate else None, settings)
            _explain(made, at, log, settings)

        try:
            run(made, port, AccessLog(log, made), certificate, ready)
        except OSError as error:
            cure = "Name files that can be written with --log and --settings."
            raise StorageError(f"{error.filename}: {error.strerror}", cure) from error


def _prepare(made: DemoWeb | HostileWeb, port: int, authority: Path | None, settings: Path) -> None:
    """Writes settings, seeds, and the certificate to trust."""
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
        print(f"{len(made.seeds):,} sites, each bad in its own way, listen on port {port}; --list tells about them.")
    else:
        name, folder = "demonstration", "demo-crawl"
        print(f"{len(made.all_sites):,} sites with {made.pages:,} pages and more listen on port {port}.")
    print("Crawl them from another window:\n")
    print(f"    gossamer crawl {folder} --seeds {seeds} --config {settings}\n")
    if isinstance(made, HostileWeb):
        print(f"see how their pages end:\n\n    gossamer web --hostile --against {folder}\n")
    if log:
        print(f"and judge the crawl's politeness:\n\n    gossamer check {log} --config {settings}\n")
    print(f"Ctrl-C ends the {name} Web.", flush=True)


def settings_for(
    domains: list[str], resolve: dict[str, str], trusted: str = "", hasty: bool = False, hostile: bool = False
) -> str:
    """A crawl.toml: waits are small, because all of these sites are ours. `hasty`: some of them never answer."""
    nowhere = {f"*.{domain}": "none" for domain in domains}
    rows = "".join(f'"{host}" = "{place}"\n' for host, place in {**resolve, **nowhere}.items())
    return (
        f"[seeder]\ndomains = {json.dumps(domains)}\n\n"
        "[harvester]\nallow_private = true\n"
        'wait = "50ms"\nwait_large = "10ms"\naddress_wait = "10ms"\npause = "10ms"\n'
        + ('first_byte_timeout = "3s"\n' if hasty else "")
        + (_limits() if hostile else "")
        + (f"trusted = {json.dumps(trusted)}\n" if trusted else "")
        + f"\n[harvester.resolve]\n{rows}"
    )


def _limits() -> str:
    from gossamer.config.values import write
    from gossamer.webs.hostile.web import LIMITS

    return "".join(f"{name} = {write(value)}\n" for name, value in LIMITS.items())
