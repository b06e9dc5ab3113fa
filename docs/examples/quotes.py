"""The tutorial spider of Scrapy: quotes with their authors and tags, page after page."""

import gossamer


def quotes(url="https://quotes.toscrape.com/", **options):
    for page in gossamer.crawl(url, include=["/page/"], **options):
        for quote in page.css("div.quote"):
            text, author = (quote.css_first(f".{name}").text() for name in ("text", "author"))
            yield {"text": text, "author": author, "tags": [tag.text() for tag in quote.css("a.tag")]}


if __name__ == "__main__":
    for each in quotes(contact="you@example.org"):
        print(each)
