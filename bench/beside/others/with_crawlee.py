"""Crawlee with its fastest parser and nothing on disk: `python with_crawlee.py SEEDS WAIT CONNECTIONS [TRUSTED]`

Its guides name `ParselCrawler` as the fastest, `ConcurrencySettings` to scale, `ThrottlingRequestManager` for a delay
per domain, and `MemoryStorageClient` if nothing need be stored.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from pathlib import Path
from urllib.parse import urlsplit

from crawlee import ConcurrencySettings, service_locator
from crawlee.crawlers import ParselCrawler, ParselCrawlingContext
from crawlee.http_clients import ImpitHttpClient
from crawlee.request_loaders import ThrottlingRequestManager
from crawlee.storage_clients import MemoryStorageClient
from crawlee.storages import RequestQueue


async def main(seeds: Path, wait: float, connections: int, trusted: bool) -> None:
    urls = seeds.read_text().split()
    service_locator.set_storage_client(MemoryStorageClient())
    hosts = sorted({urlsplit(url).hostname or "" for url in urls})
    manager = ThrottlingRequestManager(
        await RequestQueue.open(), domains=hosts, request_manager_opener=RequestQueue.open
    )
    for url in urls:
        manager.set_crawl_delay(url, wait)
    crawler = ParselCrawler(
        request_manager=manager,
        http_client=ImpitHttpClient(verify=not trusted),
        respect_robots_txt_file=True,
        max_request_retries=0,
        use_session_pool=False,
        configure_logging=False,
        concurrency_settings=ConcurrencySettings(max_concurrency=connections, desired_concurrency=connections),
    )

    @crawler.router.default_handler  # type: ignore[untyped-decorator]
    async def handle(context: ParselCrawlingContext) -> None:
        await context.enqueue_links(selector="a, area")
        await context.enqueue_links(selector="frame, iframe", attribute="src")

    await crawler.run(urls)


if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING)
    asyncio.run(main(Path(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]), len(sys.argv) > 4))
