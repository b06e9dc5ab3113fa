"""What leaves the machine, and what does not: webhooks over real sockets on loopback, and commands."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from gossamer.config import Settings, override
from gossamer.read.tell import send
from gossamer.read.tell.send import MOST_ANSWER, NotToldError, post, run
from tests.support.receiving import receiving

ALLOWED = override(Settings(), ["collection.private_webhooks=true"])


def why(url: str, settings: Settings = ALLOWED, timeout: float = 20.0) -> str:
    with pytest.raises(NotToldError) as caught:
        post(url, b"{}", [], settings, timeout)
    return str(caught.value)


def test_a_webhook_gets_the_body_and_the_fields() -> None:
    with receiving() as receiver:
        post(receiver.url, b'{"a": "\xc3\xa9"}', ["Gossamer-Timestamp: 5"], ALLOWED)
        receiver.status = 204
        post(receiver.url, b"x" * 900_000, [], ALLOWED)
    (fields, body), (_, large) = receiver.got
    assert (body, fields["Gossamer-Timestamp"], len(large)) == (b'{"a": "\xc3\xa9"}', "5", 900_000)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "2130706433", "[::ffff:127.0.0.1]"])
def test_private_addresses_are_not_asked_unless_that_is_allowed(host: str) -> None:
    with receiving() as receiver:
        url = receiver.url.replace("127.0.0.1", host)
        assert "private" in why(url, Settings())
        forbidding = override(ALLOWED, ['harvester.forbidden=["127.0.0.0/8", "::1"]'])
        assert "private" in why(url, forbidding), "networks of the settings are never asked"
    assert receiver.got == []


@pytest.mark.parametrize("url", ["http://exämple.invalid/", "http://a\0.invalid/", "http://\udcff.invalid/"])
def test_a_webhook_that_cannot_be_sent_to_fails_alone(url: str) -> None:
    """It raised another error, which ended the teller: no watch was told."""
    assert "not a URL" in why(url, ALLOWED)


def test_a_command_that_cannot_be_run_fails_alone() -> None:
    for wrong in ("a\0b", "\udcff\ud800"):
        with pytest.raises(NotToldError):
            run((sys.executable, wrong), b"")


def test_no_proxy_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9/")
    with receiving() as receiver:
        post(receiver.url, b"{}", [], ALLOWED)
    assert len(receiver.got) == 1


def test_redirects_are_not_followed_and_named() -> None:
    with receiving() as receiver:
        receiver.status, receiver.more = 307, {"Location": f"{receiver.url}/\x1b[31m"}
        assert "redirects (307) to http://127.0.0.1" in why(receiver.url)
    assert len(receiver.got) == 1


def test_only_success_accepts_a_message_and_a_long_answer_is_not_read() -> None:
    with receiving() as receiver:
        receiver.status = 503
        assert why(receiver.url) == "it answers 503"
        receiver.status, receiver.answer = 200, b"x" * 50 * MOST_ANSWER
        post(receiver.url, b"{}", [], ALLOWED)
        receiver.status = 500
        assert why(receiver.url) == "it answers 500"
    assert why("http://127.0.0.1:9/", timeout=2.0)
    assert why("gopher://127.0.0.1/", timeout=2.0)


def test_a_command_gets_the_message_and_runs_without_a_shell(tmp_path: Path) -> None:
    to = tmp_path / "$(touch x); y"
    code = "import sys; open(sys.argv[1], 'wb').write(sys.stdin.buffer.read())"
    run((sys.executable, "-c", code, str(to)), b"body" * 100_000)
    assert to.read_bytes() == b"body" * 100_000 + b"\n"


def test_a_command_that_fails_hangs_or_shouts_is_told_apart() -> None:
    def failed(code: str, timeout: float = 60.0) -> str:
        with pytest.raises(NotToldError) as caught:
            run((sys.executable, "-c", code), b"", timeout)
        return str(caught.value)

    assert failed("import sys; sys.exit('no \\x1b[31m room')").endswith(r"exit code 1: no \x1b[31m room")
    assert "not ended within 0.5s" in failed("import time; time.sleep(1000)", 0.5)
    assert "exit code 3" in failed("import sys; sys.stderr.write('x' * 10**6); sys.exit(3)")
    run((sys.executable, "-c", "import sys; print('x' * 10**6); sys.stderr.write('x' * 10**6)"), b"")
    with pytest.raises(NotToldError, match="No such file"):
        run(("/no/such/program",), b"")


def test_a_failure_is_one_short_printable_line() -> None:
    assert send._short("a\nb\x1b" + "x" * 1_000).isprintable()
    assert len(send._short("x" * 1_000)) == 200
