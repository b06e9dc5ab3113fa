"""CPU of the archive: writing a page as a response, with its text, as a repeat; the table of bodies; the index.

python -m bench.archive [--pages 300] [--repeat 5]
"""

from __future__ import annotations

import argparse
import gzip
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from bench.gather import page
from gossamer.base.disk import Appender
from gossamer.collection import cdx
from gossamer.web.archive.archive import Archive, Exchange, Place, warcinfo
from gossamer.web.archive.bodies import Payloads, keys_of
from gossamer.web.fetch.decode import decode
from gossamer.web.fetch.response import read_head

REQUEST = (
    b"GET /x HTTP/1.1\r\nHost: site.example\r\nUser-Agent: Gossamer/0 (+https://crawler.example/)\r\n"
    b"Accept: text/html\r\nAccept-Encoding: gzip, deflate, br, zstd\r\n\r\n"
)
FIELDS = [
    (b"Date", b"Tue, 14 Nov 2023 22:13:20 GMT"),
    (b"Server", b"nginx"),
    (b"Content-Type", b"text/html; charset=utf-8"),
    (b"Connection", b"keep-alive"),
    (b"Vary", b"Accept-Encoding"),
]


def exchange(url: str, body: bytes, packed: bool) -> Exchange:
    sent = gzip.compress(body, 6) if packed else body
    fields = [*FIELDS, (b"Content-Length", b"%d" % len(sent)), *([(b"Content-Encoding", b"gzip")] if packed else [])]
    decoded = decode(sent, "gzip" if packed else "", 4_000_000)
    head = read_head([b"HTTP/1.1 200 OK\r\n", *(b"%s: %s\r\n" % each for each in fields), b"\r\n"])
    return Exchange(url.encode(), "192.0.2.1", 1.7e9, REQUEST, head, sent, decoded)


def best(repeat: int, count: int, work: Callable[[int], object]) -> float:
    """Microseconds of CPU per call: the best of several times for each, as the machine may have other load."""
    least = [float("inf")] * count
    for _ in range(repeat):
        for number in range(count):
            start = time.process_time_ns()
            work(number)
            least[number] = min(least[number], time.process_time_ns() - start)
    return sum(least) / count / 1e3


def writing(folder: Path, pages: list[tuple[str, bytes]], packed: bool, repeat: int) -> None:
    exchanges = [exchange(url, body, packed) for url, body in pages]
    text = b" ".join(body[:100] for _, body in pages)[:8000]
    path, payloads = folder / "warc" / "000001.warc.gz", Payloads()
    path.parent.mkdir(exist_ok=True)
    file = Appender(path)
    file.append(warcinfo(path.name, "Gossamer/0", {}))
    places: list[Place] = []
    plain, checking = Archive(1, file, 300_000), Archive(1, file, 300_000, payloads)
    count = len(pages)
    alone = best(repeat, count, lambda i: places.append(plain.write(exchanges[i])))
    print(f"  a response              {alone:7.1f} µs")
    print(f"  a response, checked     {best(repeat, count, lambda i: checking.write(exchanges[i])):7.1f} µs")
    print(f"  with 8 KB of text       {best(repeat, count, lambda i: plain.write(exchanges[i], text)):7.1f} µs")
    first = places[:count]
    sha1 = np.frombuffer(b"".join(place.payload for place in first), np.uint8).reshape(-1, 20)
    payloads.publish(keys_of(sha1), np.ones(count, np.uint16), np.array([place.offset for place in first]))
    size = first[-1].end
    print(f"  a repeat                {best(repeat, count, lambda i: checking.write(exchanges[i])):7.1f} µs")
    start = time.process_time()
    for _ in range(repeat):
        made = cdx.lines(path, 0, size)
    spent = (time.process_time() - start) / repeat
    print(f"  a line of the index     {spent / len(made) * 1e6:7.1f} µs, {size / spent / 1e6:.0f} MB/s of archive")
    payloads.close()
    file.close()
    path.unlink()


def table(repeat: int) -> None:
    payloads, dice = Payloads(), np.random.default_rng(1)
    size, count = 1000, 300
    digests = [dice.integers(0, 256, (size, 20), np.uint8) for _ in range(count)]
    files, offsets = np.zeros(size, np.uint16), np.arange(1, size + 1)
    each = best(1, count, lambda i: payloads.publish(keys_of(digests[i]), files, offsets)) / size
    print(f"publish, {size} at a time   {each:7.2f} µs per entry")
    known = [row.tobytes() for row in digests[-1]]
    start = time.process_time()
    for _ in range(repeat):
        for sha1 in known:
            payloads.find(sha1)
    print(f"find                      {(time.process_time() - start) / repeat / size * 1e6:7.2f} µs")
    payloads.close()


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--pages", type=int, default=300)
    options.add_argument("--repeat", type=int, default=5)
    given = options.parse_args()
    pages = [page(number) for number in range(given.pages)]
    print(f"{len(pages)} pages of {sum(len(body) for _, body in pages) / len(pages) / 1000:.1f} KB")
    with tempfile.TemporaryDirectory() as folder:
        for packed in (True, False):
            print("received as gzip:" if packed else "received uncompressed:")
            writing(Path(folder), pages, packed, given.repeat)
    table(given.repeat)


if __name__ == "__main__":
    main()
