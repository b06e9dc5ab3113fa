"""The table of checks: name, function, and what to do if it is not ok."""

from __future__ import annotations

from typing import Final

from gossamer.base.errors import to_install
from gossamer.doctor import collection, line, machine, package
from gossamer.doctor.check import Check

CHECKS: Final = (
    Check("system", machine.system, "Gossamer runs on Linux only; elsewhere, use a container or a virtual machine."),
    Check(
        "processors",
        machine.processors,
        "Nothing has to be mended: a polite crawl mostly waits. For more pages a second, give it more processors.",
    ),
    Check(
        "memory",
        machine.main_memory,
        "End other programs, raise the limit of the container, or lower collection.max_pages.",
    ),
    Check(
        "files",
        machine.files,
        "Raise the limit of open files (`ulimit -Hn`; LimitNOFILE= of a systemd unit; --ulimit nofile= of a container),"
        " or lower harvester.connections.",
    ),
    Check("processes", machine.processes, "Raise the limit (`ulimit -Hu`; TasksMax= of a systemd unit)."),
    Check("space", machine.space, "Free some space, or crawl into a folder on another disk."),
    Check(
        "file system",
        machine.kind,
        "Crawl into a folder on a local disk; copy the collection when the crawl has stopped.",
    ),
    Check(
        "disk",
        machine.sync,
        "Crawl into a folder on a faster disk: a slow one holds the crawl up, and a power cut costs more.",
    ),
    Check("clock", machine.clock, "Set the clock (`timedatectl set-time`, `date -s`): wrong times would be stored."),
    Check(
        "time service",
        machine.clock_is_set,
        "Start one (`timedatectl set-ntp true`, chrony, ntpd), or ignore this if the host of this machine keeps time.",
    ),
    Check(
        "name servers",
        line.name_servers,
        "Correct /etc/resolv.conf, or set harvester.resolvers to servers that answer; a resolver of your own"
        " (unbound) is best.",
    ),
    Check(
        "names",
        line.lies,
        "Set harvester.resolvers to servers that do not lie: dead links would become pages of the liar.",
    ),
    Check(
        "certificates",
        line.certificates,
        "Install them (Debian: `apt-get install ca-certificates`), or name a file in SSL_CERT_FILE.",
    ),
    Check(
        "contact",
        line.contact,
        'Give --contact you@example.org to a crawl, or write harvester.contact = "you@example.org" to'
        " ~/.config/gossamer/crawl.toml once.",
    ),
    Check(
        "line",
        line.reach,
        "Name a URL to try: gossamer doctor --url https://example.org/. If that fails, look at"
        " routes, firewall and proxy: Gossamer connects to servers itself.",
    ),
    Check(
        "kernels", package.kernels, "Nothing has to be mended. To compile them now: python -m gossamer.tools.compile"
    ),
    Check("cache", package.cache, "Make the folder writable, or set XDG_CACHE_HOME to one that is."),
    Check("extras", package.extras, f"Install what you need: {to_install(','.join(package.EXTRAS))}"),
)
"""Checks of this machine."""

OF_A_COLLECTION: Final = (
    Check("owner", collection.owner, "Run the crawl as that user, or give the folder to this one: chown -R USER DIR"),
    Check("lock", collection.lock, "Stop it first (gossamer stop DIR), or watch it: gossamer status DIR"),
    Check(
        "room",
        collection.room,
        "Free space, move the collection to a larger disk, or stop earlier: --pages, or a smaller"
        " seeder.pages_per_site or harvester.max_download.",
    ),
)
"""Checks of the folder of a collection."""
