"""The robots.txt files of the demonstration Web."""

from __future__ import annotations

from gossamer.webs.demo.render import render_missing
from gossamer.webs.demo.shape import Shape
from gossamer.webs.demo.site import Robots, Site
from gossamer.webs.demo.sitemaps import sitemap_line


def robots_text(web: Shape, site: Site) -> bytes | None:
    """The robots.txt that a site serves with status 200; None: it serves none. A soft site serves its page for missing
    targets, which has no rules in it."""
    delay = (f"Crawl-delay: {site.delay:g}\n" if site.delay else "") + sitemap_line(site)
    folders = "Disallow: /private/\nAllow: /private/open/\n"
    match site.robots:
        case Robots.MISSING if site.features.soft:
            return render_missing(site).plain
        case Robots.EMPTY:
            text = f"# come in\nUser-agent: *\nDisallow:\n{delay}"
        case Robots.FOLDERS:
            text = f"User-agent: *\n{folders}{delay}"
        case Robots.PATTERNS:
            text = f"User-agent: *\nDisallow: /*?*print=1$\nDisallow: /*/draft-*.html$ # not ready\n{delay}"
        case Robots.NAMED:
            text = f"User-agent: *\nDisallow: /\n\nUser-agent: {web.agent}\n{folders}{delay}"
        case _:
            return None
    return text.encode()
