"""Behaviours of sites that would like to be taken for the operator's (`web/owner/proof.py`).

The key is no secret here. A crawl that has it must still not believe the first site, and the second only as long as it
shows its proof.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from gossamer.web.owner.key import Key
from gossamer.web.owner.proof import line
from gossamer.webs.hostile.behaviour import Behaviour, HostileRequest, by_path, made
from gossamer.webs.hostile.saying import answer, page

BORROWED, VANISHING = "proof-borrowed.hostile.test", "proof-vanishing.hostile.test"
KEY: Final = Key(b"the key of the hostile Web is 32", frozenset({BORROWED, VANISHING}))
_OK: Final = ("ok",)


def _vanishing() -> Callable[[HostileRequest], bytes]:
    """Shows the proof when robots.txt is requested for the first time."""
    asked: list[str] = []

    def answered(request: HostileRequest) -> bytes:
        if request.path == "/robots.txt":
            asked.append(request.path)
            return answer(line(KEY.proof(VANISHING)).encode() if len(asked) == 1 else b"# sold", kind="text/plain")
        if request.path != "/" and not request.path.startswith("/page/"):
            return answer(page("nothing"), "404 Not Found")
        links = [f"/page/{n}" for n in range(40)] if request.path == "/" else []
        return answer(page(f"once ours {request.path}", *links))

    return answered


# fmt: off
OWNERS: Final = (
    Behaviour("proof-borrowed", "Shows, as its own, the proof by which another site belongs to the operator.",
        {"/page": _OK}, by_path({
            "/.well-known/gossamer.txt": answer(line(KEY.proof(VANISHING)).encode(), kind="text/plain"),
            "/page": answer(page("a site that pretends")),
        }), robots=line(KEY.proof(VANISHING)), starts=("/page",)),
    Behaviour("proof-vanishing", "Shows its proof once, and is somebody else's from then on.",
        {"/": _OK, "/page/*": _OK}, made(_vanishing()), whole=True),
)
# fmt: on
