"""`gossamer audit`: what is wrong with a site."""

from __future__ import annotations

import gc
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from gossamer.base.errors import GossamerError, UsageError
from gossamer.base.escape import for_json
from gossamer.cli.command import PATH, argument, command, flag, unchecked

if TYPE_CHECKING:
    from gossamer.read.audit.checks import Severity
    from gossamer.read.audit.own import OwnCheck
    from gossamer.read.audit.run import Audit


@command
@argument("place", "DIR|URL", "Folder of the collection; or a URL, whose site is crawled first.", type=str)
@click.option(
    "--contact", metavar="TEXT", help="With a URL: mail address or Web page of the person who runs the crawl."
)
@flag("--mine", help="With a URL: without waits, if the site proves to be yours (`gossamer mine`).")
@click.option(
    "--set",
    "settings",
    metavar="KEY=VALUE",
    multiple=True,
    help="With a URL: change one setting of the crawl; repeatable.",
)
@flag("--external", help="Request the targets of links to other sites too, once and politely.")
@click.option("--most", type=click.IntRange(min=1), default=1_000, help="With --external: maximum number of targets.")
@click.option("--out", type=PATH, metavar="FOLDER", help="Write audit.html, audit.csv and audit.json here.")
@click.option("--check", "names", metavar="NAME", multiple=True, help="Only this check; repeatable.")
@click.option("--rows", type=click.IntRange(min=0), default=5, help="Maximum number of findings to show per check.")
@flag("--ci", help="Exit with code 1 if there are findings of the severity --fail-on or above.")
@click.option(
    "--fail-on",
    type=click.Choice(["error", "warning", "notice"]),
    metavar="SEVERITY",
    default="error",
    help="With --ci: lowest severity that fails: error, warning or notice.",
)
@click.option("--baseline", type=PATH, metavar="FILE", help="audit.json of an earlier audit: only new findings fail.")
@flag("--json", "as_json", help="Print one JSON object.")
@unchecked
def audit(
    place: str,
    contact: str | None,
    mine: bool,
    settings: tuple[str, ...],
    external: bool,
    most: int,
    out: Path | None,
    names: tuple[str, ...],
    rows: int,
    ci: bool,
    fail_on: str,
    baseline: Path | None,
    as_json: bool,
    unchecked: bool,
) -> None:
    """Check the pages in DIR: broken links, redirects, titles, canonicals, sitemaps, duplicates, slow pages. With a
    URL, crawl its site first."""
    from gossamer.cli.place import placed
    from gossamer.cli.progress import Progress
    from gossamer.cli.view import folded
    from gossamer.read.audit import run, shown

    is_url = place.lower().startswith(("http://", "https://"))
    folder = placed((place,), lambda _: None)[0] if is_url else Path(place)
    checks = run.chosen(names, _own(folder))
    asked = [*(["--contact", contact] if contact else []), *(["--mine"] if mine else [])]
    asked += [word for change in settings for word in ("--set", change)]
    if asked and not is_url:
        raise UsageError(f"{asked[0]} is for a URL, and {place} is none", "Give the URL of the site, or leave it out.")
    if is_url:
        _crawl(place, asked)
        checks = run.chosen(names, _own(folder))  # the crawl may have set them
    if external:
        _ask_others(folder, most, unchecked)
    gc.unfreeze()  # a crawl in this process has frozen its objects: the end of the program frees them
    with Progress(sys.stderr) as progress:
        made = run.audit(folder, checks, None, unchecked, progress.doing)
    if baseline is not None:
        made = run.compared(made, baseline)
    if out is not None:
        _write(out, made)
    if as_json:
        print(for_json(made.to_json()))
    else:
        for line in folded(shown.lines(made, rows), sys.stdout):
            print(line)
    if ci and made.failed:
        raise GossamerError(
            f"not made: {', '.join(made.failed)}", "Correct these checks, or leave them out: see above."
        )
    failing = made.reaches(cast("Severity", fail_on)) if ci else 0
    if failing:
        which = "new findings" if baseline is not None else "findings"
        raise GossamerError(
            f"{failing} {which} of severity {fail_on} or above", "See `gossamer audit --help`: --fail-on."
        )


def _own(folder: Path) -> tuple[OwnCheck, ...]:
    """The checks of the plug-ins that the collection names."""
    from gossamer.cli.confirm import confirmed_in
    from gossamer.read.audit.own import own_checks

    return own_checks(confirmed_in(folder, "audit"))


def _crawl(url: str, asked: Sequence[str]) -> None:
    """Crawls the site now. If its folder is there already, its crawl goes on: no page is fetched twice."""
    from gossamer.cli.crawl import crawl

    crawl.main([url, *asked], prog_name="gossamer crawl", standalone_mode=False)


def _ask_others(folder: Path, most: int, unchecked: bool) -> None:
    """Requests the targets of links to other sites, if they were not requested within a day."""
    from gossamer import config
    from gossamer.cli.progress import Progress
    from gossamer.collection.layout import SETTINGS
    from gossamer.config.user import user_settings
    from gossamer.crawler.run import run as crawl
    from gossamer.crawler.start import CrawlRequest
    from gossamer.read.audit import run
    from gossamer.read.audit.outside import Outside, settings_of
    from gossamer.read.steer.deliver import deliver

    addresses, known = run.addresses_outside(folder, unchecked), Outside(folder)
    new, again = known.to_ask(addresses, most, time.time())
    left = known.open()
    said = f"{len(addresses):,} addresses of other sites: {len(new) + len(again) + left:,} to request"
    print(said, file=sys.stderr)
    if not (new or again or left):
        return
    if again:
        deliver(known.folder, "again", again, lambda part: None)
    with tempfile.TemporaryDirectory(prefix="gossamer-audit-") as made, Progress(sys.stderr) as progress:
        settings, seeds = Path(made) / SETTINGS, Path(made) / "seeds"
        settings.write_text(config.dump(settings_of(config.load(folder / SETTINGS))))
        seeds.write_text("".join(f"{url}\n" for url in new))
        request = CrawlRequest(
            known.folder, (), (seeds,), config=settings, patience=30.0, beside=folder, user_settings=user_settings()
        )
        report = crawl(request, progress)
    for line in report.lines():
        print(line, file=sys.stderr)
    if report.interrupted:
        sys.exit(130)


def _write(out: Path, made: Audit) -> None:
    from gossamer.base import disk
    from gossamer.read.audit import shown
    from gossamer.read.export.target import whole

    disk.make_directory(out.absolute())
    texts = {
        "audit.csv": shown.as_csv(made),
        "audit.json": for_json(made.to_json(), indent=1),
        "audit.html": shown.as_html(made),
    }
    for name, text in texts.items():
        with whole(out / name, force=True) as file:
            file.write(text.encode())
    print(out / "audit.html", file=sys.stderr)
