"""Scrapy with the settings of its page "Broad Crawls": `python with_scrapy.py SEEDS WAIT CONNECTIONS`"""

from __future__ import annotations

import sys
from pathlib import Path
from urllib.parse import urlsplit

from scrapy.crawler import CrawlerProcess
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule


class Broad(CrawlSpider):  # type: ignore[misc]
    name = "broad"
    rules = (Rule(LinkExtractor(tags=("a", "area", "frame", "iframe"), attrs=("href", "src")), follow=True),)


def main(seeds: Path, wait: float, connections: int) -> None:
    urls = seeds.read_text().split()
    process = CrawlerProcess(
        {
            "SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.DownloaderAwarePriorityQueue",
            "CONCURRENT_REQUESTS": connections,
            "REACTOR_THREADPOOL_MAXSIZE": 20,
            "LOG_LEVEL": "INFO",
            "COOKIES_ENABLED": False,
            "RETRY_ENABLED": False,
            "DOWNLOAD_TIMEOUT": 15,
            "REDIRECT_ENABLED": False,
            "TELNETCONSOLE_ENABLED": False,
            "ROBOTSTXT_OBEY": True,
            "USER_AGENT": "Scrapy",
            "DOWNLOAD_DELAY": wait,
            "RANDOMIZE_DOWNLOAD_DELAY": False,
            "CONCURRENT_REQUESTS_PER_DOMAIN": 1,
        }
    )
    process.crawl(Broad, start_urls=urls, allowed_domains=[urlsplit(url).hostname for url in urls])
    process.start()


if __name__ == "__main__":
    main(Path(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]))
