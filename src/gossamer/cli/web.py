"""`gossamer web`: serves the demonstration Web in the foreground, and says how to crawl it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer


def web(
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on every address of it; 0: any that is free.")] = 0,
    sites: Annotated[int, typer.Option(min=1, help="Number of sites.")] = 120,
    pages: Annotated[int, typer.Option(min=1, help="Number of pages.")] = 20_000,
    seed: Annotated[int, typer.Option(help="The same seed makes the same Web.")] = 1,
    log: Annotated[Path | None, typer.Option(help="Access log, for `gossamer check`.")] = None,
    settings: Annotated[Path, typer.Option(help="Where the settings for a crawl are written.")] = Path("web.toml"),
) -> None:
    """Serve the demonstration Web: a hundred sites on this machine's own 127.x.y.z, until Ctrl-C."""
    from gossamer.demo import DemoWeb
    from gossamer.demo.access import AccessLog
    from gossamer.demo.server import run
    from gossamer.errors import StorageError

    made = DemoWeb(seed=seed, sites=sites, pages=pages, largest=max(2_000, pages // sites + 1))
    seeds = settings.with_suffix(".seeds")

    def ready(at: int) -> None:
        settings.write_text(settings_for(made.domains, made.resolve(at)))
        seeds.write_text("".join(f"{url}\n" for url in made.seeds))
        print(f"{sites:,} sites with {pages:,} pages listen on port {at}. Crawl them from another window:\n")
        print(f"    gossamer crawl demo-crawl --seeds {seeds} --config {settings}\n")
        if log:
            print(f"and judge the crawl's politeness:\n\n    gossamer check {log} --config {settings}\n")
        print("Ctrl-C ends the demonstration Web.", flush=True)

    try:
        run(made, port, AccessLog(log, made), ready)
    except OSError as error:
        cure = "Name files that can be written with --log and --settings."
        raise StorageError(f"{error.filename}: {error.strerror}", cure) from error


def settings_for(domains: list[str], resolve: dict[str, str]) -> str:
    """A crawl.toml: waits are small, because all of these sites are ours."""
    nowhere = {f"*.{domain}": "none" for domain in domains}
    rows = "".join(f'"{host}" = "{place}"\n' for host, place in {**resolve, **nowhere}.items())
    return (
        f"[seeder]\ndomains = {json.dumps(domains)}\n\n"
        "[harvester]\nallow_private = true\n"
        'wait = "50ms"\nwait_large = "10ms"\naddress_wait = "10ms"\npause = "10ms"\n\n'
        f"[harvester.resolve]\n{rows}"
    )
