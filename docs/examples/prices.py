"""A price monitor: asks again for the products of a shop, and yields those whose price is another than last time.

Run it once a day. The collection remembers the last prices, and asks on condition that a page has changed."""

import gossamer


def price(page):
    found = page.tree.css_first(".price")
    return found.text().strip() if found else None


def changed_prices(shop, folder, products="/product/", **options):
    """URL, old price and new price."""
    try:
        web = gossamer.open(folder)
        before = {page.url: price(page) for page in web.pages(like=f"%{products}%")}
        web.again(where=f"url like '%{products}%'")
    except gossamer.UsageError:  # the first time
        before = {}
    for page in gossamer.crawl(shop, folder=folder, **options):
        if page.url in before and price(page) != before[page.url]:
            yield page.url, before[page.url], price(page)


if __name__ == "__main__":
    for url, old, new in changed_prices("https://shop.example/", "shop", contact="you@example.org"):
        print(f"{url}: {old} -> {new}")
