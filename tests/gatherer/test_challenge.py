"""Tests of challenges and log-ins that replace a page, and of pages that resemble them."""

from __future__ import annotations

import pytest

from gossamer.base.model import Outcome
from gossamer.gatherer.challenge import SMALL, challenged

HTML = {"content-type": "text/html; charset=utf-8"}
WORDS = " ".join(f"word{n} is followed by more" for n in range(60))

CLOUDFLARE = """<!DOCTYPE html><html><head><title>Just a moment...</title></head><body>
<noscript><div>Enable JavaScript and cookies to continue</div></noscript>
<script>(function(){window._cf_chl_opt={cvId:'3',cType:'managed',cRay:'8a',cZone:'example.org'};
var a=document.createElement('script');a.src='/cdn-cgi/challenge-platform/h/b/orchestrate/chl_page/v1?ray=8a';
document.getElementsByTagName('head')[0].appendChild(a);}());</script></body></html>"""
DATADOME = """<html lang="en"><head><title>example.org</title></head><body style="margin:0"><p id="cmsg">Please enable
JS and disable any ad blocker</p><script>var dd={'rt':'c','cid':'AHr','hsh':'A55','t':'bv'}</script>
<script src="https://ct.captcha-delivery.com/c.js"></script></body></html>"""
IMPERVA = """<html style="height:100%"><head><META NAME="ROBOTS" CONTENT="NOINDEX, NOFOLLOW"></head>
<body style="margin:0px"><iframe id="main-iframe" src="/_Incapsula_Resource?SWUDNSAI=31&xinfo=9" height="100%">Request
unsuccessful. Incapsula incident ID: 0-1</iframe></body></html>"""
RECAPTCHA = """<html><head><title>Are you a robot?</title><script src="https://www.google.com/recaptcha/api.js" async>
</script></head><body><h1>Unusual traffic</h1><p>Our systems have detected unusual traffic from your network.</p>
<form action="/verify" method="post"><input type="hidden" name="q" value="a1"><div class="g-recaptcha"
data-sitekey="6Lf"></div><textarea name="g-recaptcha-response"></textarea><input type="submit" value="Go on"></form>
<a href="/help">Help</a></body></html>"""
TURNSTILE = """<html><body><p>Checking your browser</p><form method=post><div class="cf-turnstile" data-sitekey="0x4">
</div></form><script src="https://challenges.cloudflare.com/turnstile/v0/api.js"></script></body></html>"""
PICTURE = """<html><body><form><p>Type the characters you see</p><img src="/captcha.php?id=7"><input name=code>
<input type=submit></form></body></html>"""
LOG_IN = """<html><head><title>Intranet</title></head><body><h1>Sign in</h1><form method="post" action="/session">
<label>Name <input name="user" type="text"></label><label>Password <input name="pass" type="password"></label>
<input type="checkbox" name="stay"><button>Sign in</button></form><a href="/forgotten">Forgotten?</a></body></html>"""

CHALLENGES = {
    "cloudflare": CLOUDFLARE,
    "datadome": DATADOME,
    "imperva": IMPERVA,
    "recaptcha": RECAPTCHA,
    "turnstile": TURNSTILE,
    "picture": PICTURE,
}

COMMENTS = f"""<html><body><article>{WORDS}</article><form><textarea name=comment></textarea><input name=name>
<div class="g-recaptcha" data-sitekey="6Lf"></div></form></body></html>"""
CONTACT = """<html><body><h1>Write to us</h1><form><input type=text name=name><input type=email name=mail>
<textarea name=message></textarea><div class="h-captcha"></div><button>Send</button></form></body></html>"""
PAGES = {
    "an article with a form for comments": COMMENTS,
    "a short form with a CAPTCHA": CONTACT,
    "the shell of an application that loads the script": """<html><head>
<script src="https://www.google.com/recaptcha/api.js?render=6Lf"></script></head><body><div id=root></div></body>""",
    "an article about it": f"<html><body><h1>How a CAPTCHA works</h1>{WORDS} captcha turnstile</body></html>",
    "a menu": f'<div class="g-recaptcha"></div>{"".join(f"<a href=/{n}>{n}</a>" for n in range(9))}',
    "a page behind Cloudflare": f"<html><body>{WORDS}<script>window.__CF$cv$params={{r:'8a'}};"
    "a.src='/cdn-cgi/challenge-platform/scripts/jsd/main.js'</script></body></html>",
    "a page behind Imperva": f'<html><body>{WORDS}<script src="/_Incapsula_Resource?SWJI=7"></script></body></html>',
    "a page with a small log-in": f"<html><body>{WORDS}<form><input name=u><input type=password></form></body></html>",
    "a form to register": "<form><input name=a><input type=password name=p><input type=password name=again></form>",
    "a short article with a button that is guarded": f"""<html><body><h1>News</h1><p>{WORDS[:200]}</p><form>
<button class="g-recaptcha" data-sitekey="6Lf" data-callback="send">Subscribe</button></form></body></html>""",
    "two lines with a button that is guarded": "<p>Soon</p><form><button class=g-recaptcha>Subscribe</button></form>",
    "two lines with a widget that is not seen": "<p>Soon</p><div class=h-captcha data-size=invisible></div>",
    "a short article with a widget": f"<p>{WORDS[:250]}</p><form><div class=g-recaptcha></div></form>",
    "a short page": "<html><body><p>Password policy: change your password often.</p></body></html>",
}
SCRIPTS = {
    "a contact page behind Imperva": """<html><head><title>Contact</title></head><body><h1>Contact</h1><p>Example Ltd,
1 High Street, Exampleton. Open from nine to five.</p><p>Call 555 0100.</p><a href="/">Home</a>
<script type="text/javascript" src="/_Incapsula_Resource?SWJIYLWA=719d34d31c8e3a6e6fffd425f7e032f3&amp;ns=1"></script>
</body></html>""",
    "the shell of an application behind AWS": """<html><head><title>App</title><script defer
src="https://1a2b3c.eu-west-1.sdk.awswaf.com/1a2b3c/challenge.js"></script></head><body><div id="root"></div>
<script src="/static/main.js"></script></body></html>""",
}
"""Pages that differ from a challenge only by the status."""


@pytest.mark.parametrize("status", [200, 403, 429, 503])
@pytest.mark.parametrize("name", CHALLENGES)
def test_challenge_pages_are_recognised(name: str, status: int) -> None:
    asks = challenged(status, HTML, CHALLENGES[name].encode())
    assert asks is not None
    assert asks.outcome is Outcome.CHALLENGED
    assert asks.detail


@pytest.mark.parametrize("status", [200, 403, 503])
@pytest.mark.parametrize("name", PAGES)
def test_pages_that_resemble_a_challenge_are_pages(name: str, status: int) -> None:
    assert challenged(status, HTML, PAGES[name].encode()) is None


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_of_ordinary_pages_count_only_if_the_status_is_not_200(name: str) -> None:
    assert challenged(200, HTML, SCRIPTS[name].encode()) is None
    for status in (202, 403, 405, 429, 503):
        asks = challenged(status, HTML, SCRIPTS[name].encode())
        assert asks is not None
        assert asks.outcome is Outcome.CHALLENGED


def test_a_log_in_instead_of_the_page_is_a_refusal() -> None:
    assert challenged(200, HTML, LOG_IN.encode()) == (Outcome.REFUSED, "the answer is a log-in")
    assert challenged(200, {}, LOG_IN.encode()) is not None, "without a type the body decides"
    assert challenged(200, {"content-type": "text/plain"}, LOG_IN.encode()) is None
    assert challenged(403, HTML, LOG_IN.encode()) is None, "it is a refusal already"


@pytest.mark.parametrize(
    ("status", "name", "value", "expected"),
    [
        (403, "cf-mitigated", "challenge", True),
        (200, "cf-mitigated", " Challenge ", True),
        (403, "cf-mitigated", "block", False),
        (202, "x-amzn-waf-action", "challenge", True),
        (405, "x-amzn-waf-action", "captcha", True),
        (429, "x-vercel-mitigated", "challenge", True),
        (404, "cf-mitigated", "challenge", False),
        (401, "cf-mitigated", "challenge", False),
    ],
)
def test_a_header_of_the_service_marks_a_challenge(status: int, name: str, value: str, expected: bool) -> None:
    assert (challenged(status, {**HTML, name: value}, b"<p>x</p>") is not None) is expected


def test_error_pages_are_not_challenges() -> None:
    for status in (401, 403, 404, 500):
        assert challenged(status, HTML, b"<h1>Forbidden</h1>") is None
    assert challenged(401, HTML, RECAPTCHA.encode()) is None


def test_large_bodies_are_not_checked() -> None:
    padded = CLOUDFLARE + "<!--" + "x" * SMALL + "-->"
    assert challenged(200, HTML, padded.encode()) is None
