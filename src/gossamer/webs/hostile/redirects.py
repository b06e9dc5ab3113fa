"""Behaviours with redirects: redirects to nowhere, in circles, too far, or to forbidden places."""

from __future__ import annotations

from typing import Final

from gossamer.webs.hostile.behaviour import Behaviour, by_path, made, one, says, several
from gossamer.webs.hostile.saying import answer, page, redirect

# fmt: off
REDIRECTS: Final = (
    one("no-target", "A redirect without a target.", "no_content", says(answer(b"", "302 Found")), "A.3.3"),
    one("to-itself", "A redirect to itself.", "redirect", says(redirect("/page"))),
    several("circle", "Redirects in a circle.", "redirect",
        {"/one": redirect("/two"), "/two": redirect("/three"), "/three": redirect("/one")}),
    Behaviour("ten-deep", "A chain of ten redirects.",
        {**{f"/step/{n}": ("redirect",) for n in range(10)}, "/step/10": ("ok",)},
        by_path({
            **{f"/step/{n}": redirect(f"/step/{n + 1}") for n in range(10)},
            "/step/10": answer(page("the end of ten redirects")),
        }), starts=("/step/0",)),
    Behaviour("no-end", "An endless chain of redirects, each to a new target.",
        {"/hop/*": ("redirect", "excluded: redirects")},
        made(lambda request: redirect(f"/hop/{int(request.path[5:]) + 1 if request.path[5:].isdecimal() else 0}")),
        starts=("/hop/0",)),
    several("to-other-schemes", "Redirects to javascript: and other schemes that are no pages.", "redirect", {
        "/javascript": redirect("javascript:alert(1)"),
        "/data": redirect("data:text/html,<p>hello"),
        "/file": redirect("file:///etc/passwd"),
        "/mail": redirect("mailto:a@hostile.test"),
        "/broken": redirect("http://[::1/"),
    }),
    several("to-other-sites", "Redirects to other sites, inside and outside the crawl.", "redirect",
        {"/within": redirect("http://longer.hostile.test/page"), "/beyond": redirect("http://beyond.test/")}),
    Behaviour("to-private", "Redirects to addresses that must not be visited.",
        dict.fromkeys(("/by-name", "/by-number", "/by-long-number"), ("redirect",)),
        by_path({
            "/by-name": redirect("http://private.hostile.test/secret"),
            "/by-number": redirect("http://10.0.0.1/secret"),
            "/by-long-number": redirect("http://2130706433/secret"),
        }), places={"private": "127.66.0.1"}),
)
# fmt: on
