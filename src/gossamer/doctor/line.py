"""The line: name servers, certificates, and whether a server can be reached."""

from __future__ import annotations

import secrets
import select
import time
from dataclasses import replace
from typing import Final

import pycurl

from gossamer import urls
from gossamer.base.units import Duration, human_time, plural
from gossamer.config.settings import HarvesterSettings
from gossamer.doctor.check import Found, Patient, note, ok, wrong
from gossamer.web.addresses import literal
from gossamer.web.fetch.request import Trusted, request_fields, system_bundle
from gossamer.web.names.nameserver import system_servers
from gossamer.web.names.resolver import Resolver
from gossamer.web.seam import Answer

PATIENCE: Final = 5.0
"""Seconds that a name server has for an answer."""
TIMEOUT: Final = 30
"""Seconds that a server has for an answer."""
NOT_THERE: Final = "no such name"


def servers_of(settings: HarvesterSettings) -> list[str]:
    return list(dict.fromkeys(settings.resolvers)) or system_servers()


def name_servers(patient: Patient) -> Found:
    """Whether each answers, if only that there is no such name."""
    servers = servers_of(patient.settings.harvester)
    if not servers:
        return wrong("there is none")
    failed = {}
    for server in servers:
        answer = asked(patient.settings.harvester, server, nowhere())
        if answer.address is None and answer.error != NOT_THERE:
            failed[server] = answer.error or "no answer"
    said = ", ".join(f"{server} ({failed[server]})" if server in failed else server for server in servers)
    if not failed:
        return ok(f"{said} {'answers' if len(servers) == 1 else 'answer'}")
    return (wrong if len(failed) == len(servers) else note)(f"without a proper answer: {said}")


def lies(patient: Patient) -> Found:
    """Whether a name that does not exist has an address there: then every dead link leads to the liar's server."""
    harvester, names = patient.settings.harvester, [nowhere()]
    host = urls.host(patient.url) if patient.url else ""
    if "." in host and literal(host) is None:
        names.append(nowhere(f".{host.rpartition('.')[2]}"))  # some lie only about domains that could be sold
    liars = {
        f"{server}: {name} is {answer.address or answer.error}"
        for server in servers_of(harvester)
        for name in names
        if (answer := asked(harvester, server, name)).address is not None or answer.error == "forbidden"
    }
    return wrong("; ".join(sorted(liars))) if liars else ok("no address is given for a name that does not exist")


def nowhere(domain: str = ".invalid") -> str:
    """A name that does not exist; `invalid` never has any (RFC 6761), and no resolver has to ask others for it."""
    return f"gossamer-doctor-{secrets.token_hex(8)}{domain}"


def asked(settings: HarvesterSettings, server: str, host: str) -> Answer:
    """What this name server alone says of the host."""
    return _looked_up(replace(settings, resolvers=(server,), resolve={}), host)


def _looked_up(settings: HarvesterSettings, host: str) -> Answer:
    patience = Duration(min(PATIENCE, settings.name_timeout))
    resolver = Resolver(replace(settings, name_timeout=patience))
    try:
        resolver.ask(0, host)
        until, poll = time.monotonic() + 2 * patience, select.poll()
        poll.register(resolver.fileno(), select.POLLIN)
        while time.monotonic() < until:
            if answers := resolver.answers():
                return answers[0]
            poll.poll(100)
    finally:
        resolver.close()
    return Answer(0, host, None, error="timed out")


def certificates(patient: Patient) -> Found:
    bundle = system_bundle()
    if not bundle:
        return wrong("this machine has no file of certificates: no https server can be trusted")
    with open(bundle, "rb") as file:
        count = file.read().count(b"BEGIN CERTIFICATE")
    return (ok if count else wrong)(f"{plural(count, 'certificate')} in {bundle}")


def contact(patient: Patient) -> Found:
    harvester = patient.settings.harvester
    said = " and ".join(filter(None, (harvester.contact, harvester.about)))
    return ok(f"{said}: {request_fields(harvester)[0]}") if said else note("none: only this machine can be crawled")


def reach(patient: Patient) -> Found:
    """One request to the URL that the user gave, as a crawl would make it; its body is not read."""
    if not patient.url:
        return note("not tried: no URL was given")
    harvester, parts = patient.settings.harvester, urls.split(patient.url)
    found = _looked_up(replace(harvester, allow_private=True), parts.host)
    if found.address is None:
        return wrong(f"{patient.url}: {parts.host}: {found.error}")
    address = f"[{found.address}]" if ":" in found.address else found.address
    curl, trusted = pycurl.Curl(), Trusted(harvester.trusted)
    try:
        curl.setopt(pycurl.URL, patient.url)
        curl.setopt(pycurl.CONNECT_TO, [f"::{address}:{found.port or parts.port}"])
        curl.setopt(pycurl.HTTPHEADER, request_fields(harvester))
        curl.setopt(pycurl.PROXY, "")
        curl.setopt(pycurl.TIMEOUT, TIMEOUT)
        curl.setopt(pycurl.NOSIGNAL, 1)
        curl.setopt(pycurl.WRITEFUNCTION, lambda _: 0)  # enough
        if trusted.path:
            curl.setopt(pycurl.CAINFO, trusted.path)
        try:
            curl.perform()
        except pycurl.error as error:
            if error.args[0] != pycurl.E_WRITE_ERROR:
                return wrong(f"{patient.url}: {error.args[1]}")
        status, seconds = curl.getinfo(pycurl.RESPONSE_CODE), curl.getinfo(pycurl.TOTAL_TIME)
        return ok(f"{patient.url} answers with {status} after {human_time(seconds)}, at {found.address}")
    finally:
        curl.close()
