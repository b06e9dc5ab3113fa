"""Plug-ins of every kind, for a crawl of a shop. Copy the file into the folder of the collection, and name what you
want:

    [plugins]
    process = "shop.py:offers"
    filter = "shop.py:no_baskets"
    strategy = "shop.py:products_first"     # with policy = "plugin" in [manager]
    score = "shop.py:products"              # or this, with weights = { completed = 1.0, plugin = 1.0 } in [manager]
    report = "shop.py:prices"
    audit = "shop.py:without_price"
"""


def offers(page):
    price = page.tree.css_first(".price") if page.tree else None
    return {"name": page.title, "price": price.text().strip().strip("€ ")} if price else None


offers.columns = {"name": "text", "price": "float"}


def no_baskets(url, page):
    return "/basket" not in url and "compare=" not in url


def products(web):
    return {page: 1.0 for (page,) in web.sql("select page from pages where url like '%/product/%'")}


def products_first(web):
    """Products, then pages with few clicks."""
    rows = web.sql("select page, depth, url like '%/product/%' from pages")
    return {page: 1000.0 * product - depth for page, depth, product in rows}


def prices(web):
    """Prices of offers"""
    rows = web.sql("select name, price from offers where price is not null order by price desc")
    return {
        "offers": len(rows),
        "The most expensive": [{"offer": name, "price": price} for name, price in rows[:10]],
        "Prices in order": {"place": range(1, len(rows) + 1), "price": [price for _, price in rows]},
    }


def without_price(web):
    """The product has no price."""
    return web.sql(
        "select url from pages where url like '%/product/%' and outcome = 'ok'"
        " and page not in (select page from offers where price is not null) order by url"
    )


without_price.severity = "error"
without_price.cure = "Write the price, or take the page down."
