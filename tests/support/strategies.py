"""Hypothesis strategies that several tests share: URLs, HTML, graphs, seeds."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

seeds = st.integers(0, 2**32)
"""Seeds of random generators, for tests that make their own random data."""


def joined(pieces: Sequence[str], *, most: int, least: int = 0) -> st.SearchStrategy[str]:
    """Texts of `least` to `most` of these pieces, in any order."""
    return st.lists(st.sampled_from(pieces), min_size=least, max_size=most).map("".join)


# --- URLs -------------------------------------------------------------------------------------------------------------

# fmt: off
_PIECES = (
    "/", "//", ".", "..", "/./", "/../", "%2e", "%2E%2e", "?", "&", "=", "#", ";", ":", "@", "\\", " ", "\t", "\n", "a",
    "b", "c.html", "Index.PHP", "%41", "%7e", "%zz", "%", "ü", "日本", "\u00ad", "sid=1", "PHPSESSID=ab",
    "jsessionid=0", ";jsessionid=12", "ASPSESSIONIDQQ=1", "x=1", "[", "]", "|", "^", "'", '"', "<", ">", "{", "}", "*",
    "$", "!", "+", ",", "~", "0", "9", "%%37%45", "%3a", "%2%65", "%e", "%73id=",
    "sid=0123456789abcdef0123456789ABCDEF", ";jsessionid=0123456789abcdef", "/(S(lit3py55t21z5v55vlm25s55))/", "тест",
)
_STARTS = (
    "http://", "https://", "HTTP://", "http:", "https:/", "//", "", "", "", "ftp://", "mailto:", "javascript:", "data:",
    "http://user:pw@", "http://example.org/", "https://example.org/a/b/", "http://example.org:80/",
    "http://[::1]:8080/",
)
_HOSTS = (
    "example.org", "EXAMPLE.org", "www.example.org.", "exämple.org", "xn--exmple-cua.org", "127.1", "0x7f.1",
    "017700000001", "[::1]", "[::ffff:127.0.0.1]", "a.b.c", "example.org:8080", "example.org:443", "example.org:",
    "1.2.3.4.5", "", "a b", "日本.jp",
)
# fmt: on

paths = joined(_PIECES, most=10)
references = st.one_of(
    st.builds(lambda *parts: "".join(parts), st.sampled_from(_STARTS), st.sampled_from(_HOSTS), paths),
    st.builds(lambda *parts: "".join(parts), st.sampled_from(_STARTS), paths),
    paths,
    st.text(max_size=40),
)
"""References as people write them in href, and worse ones."""
plain_references = st.from_regex(
    r"\A(https?://(www\.)?example\.(org|com))?(\.\./){0,3}/?[\w.~+,=-]*(/[\w.~-]*){0,3}(\?[\w=&.%/:;-]*)?(#[\w?]*)?\Z"
)
"""References like most links of the Web, with some odd ones."""
bases = st.sampled_from(
    (
        "http://example.org/",
        "https://example.org/a/b/c.html",
        "http://example.org/a//b/?q=/x/y",
        "https://example.org/d/",
        "http://127.0.0.1:8080/x;y/z?a",
        "https://[::1]/p/q",
        "http://example.org/%7eu/%41%%37%45/x",
        "http://example.org/a;sid=0123456789abcdef0123456789ABCDEF/b",
    )
)
"""URLs of pages, in canonical form."""

# --- HTML -------------------------------------------------------------------------------------------------------------

# fmt: off
LINK_PIECES = (
    "<a href='", "/x", "?q=1", "'>", "</a>", "<p>", "text ", "<base href='/b/'>", "<img src=", "i.png>", "<script>",
    "ü", "</script>", "<meta name=robots content=", "nofollow>", "<!--", "-->", "<table><tr>", "&amp;", "&#0;", "\0",
    '"', "<svg>",
)
"""Pieces of pages with links."""
TEXT_PIECES = (
    "<p>", "</p>", "<div>", "</div>", "one ", "two", "\n", "&lt;b&gt;", "&amp;", "<b>", "</b>", "<pre>", "</pre>",
    "<table><tr><td>", "</table>", "<textarea>", "</textarea>", "<xmp>", "</xmp>", "<svg><style>x</style>", "</svg>",
    "<script>s</script>", "<!-- c -->", "<br>", "<select><option>", "</select>", "\0", "&#0;", "\x01", "ü", "<a>",
    "</a>", "<iframe>", "</iframe>", "<template>", "</template>", "<noscript>", "</noscript>", "<li>", "<math><mi>",
)
"""Pieces of pages with text in elements of every kind."""
TAG_PIECES = (
    "<div>", "</div>", "<DIV class=x>", "</DIV >", "<b>", "</b>", "<b class='x'>", "<i>", "</i>", "<p>", "</p>", "<ul>",
    "</ul>", "<li>", "</li>", "<dl>", "</dl>", "<dt>", "<dd>", "</dd>", "<table>", "<tr>", "<td>", "</td>", "</tr>",
    "</table>", "<span title='it is'>", '<span title="x=">', "</span>", "<a href=/x>", "</a>", "<br>", "<br/>", "text",
    "<!-- x -->", "<!-- </div> -->", "<!-->", "<!--->", "<!--", "-->", "<!-- <div> --!>", "<!x </div>", "<?x>", "</ x>",
    "<script>", "</script>", "<script>'</div>'</script>", "<style></div></style>", "<title><div></title>", "<textarea>",
    "</textarea>", '<p title="</div>">', '<p title="></div>">', '<p title="<!--">', '<p title="-->">', '<p a"=">',
    '<p title="><!--">', '<p a=b=" c=">', "</di<!-- -->v>", "<di<!-- -->v>", "<svg>", "</svg>", "<select>", "</select>",
    '<p ="x=">', "<p a=/x/>", '<p class="x ">', "<template>", "</template>", "<button>", "</button>", "<![CDATA[",
    "]]>", "<", ">", '"', "'", " < ", "<div/>", "<rt>", "<rp>", "<ruby>", "</ruby>", "<optgroup>", "</optgroup>",
    "<form>", "</form>", "<h1>", "</h2>", "<rtc>", "<div", "</div", "<x-y>", "</x-y>", "<option>", "<object>",
    "</object>", "<plaintext>", "<noscript>", "</noscript>",
)
"""Tags, usual and odd, whose nesting matters."""
LEAF_PIECES = (
    "<b>x</b>", "<b class=x>y</b>", "<span>x</span>", '<i title="a>b</i>">', '<i a=\u00a0"x y=">z</i>', "<b\u00a0>",
    '<b\u00a0="x y=">', "<STRI\u212aE>", "<code\x0b>", "<u\x00>", "<A\n>x</a>", "<p\0>", "<li>x</li>", "<em/>x</em>",
    "<!-- <span>--></span>", '<p title="<div>x</div>">', "<title>x</title>", "<div\t>x</div>", "<b id=1>", "<b id=2>",
    "<![CDATA[ < ", "]]>", "<div ti", 'tle="x">', "<div t='", "<li><a href=x>y</a></li>", "<div><em>x</em><br></div>",
    '<b ="x>y</b>">',
)
"""Elements without children, usual and odd."""
# fmt: on

# --- graphs -----------------------------------------------------------------------------------------------------------

Links = list[list[int]]
"""A graph: the targets of each page, by page."""


@st.composite
def graphs(draw: st.DrawFn) -> Links:
    """Graphs of up to 40 pages with up to 6 links each, repeated links included."""
    n = draw(st.integers(1, 40))
    return [draw(st.lists(st.integers(0, n - 1), max_size=6)) for _ in range(n)]
