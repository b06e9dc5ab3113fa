"""A corpus in one language: a JSON object for each page, without duplicates and pages that are almost empty."""

import json
import sys

import gossamer


def corpus(folder, language, least=200):
    for page in gossamer.open(folder).pages(language=language, duplicates=False, where=f"text_length >= {least}"):
        yield {"url": page.url, "time": page.time.isoformat(), "title": page.title, "text": page.text}


if __name__ == "__main__":
    for each in corpus(sys.argv[1], sys.argv[2]):
        print(json.dumps(each, ensure_ascii=False))
