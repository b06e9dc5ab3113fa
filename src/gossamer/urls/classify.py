"""What a URL is likely to lead to, by the extension of its path: one look into a table."""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from gossamer.model import Counted


class UrlClass(IntEnum):
    """Below PAGE: the value of the `Counted` class, never asked for. From PAGE on: may become a known page."""

    IMAGE = Counted.IMAGE
    AUDIO = Counted.AUDIO
    VIDEO = Counted.VIDEO
    DOCUMENT = Counted.DOCUMENT
    SOFTWARE = Counted.SOFTWARE
    SOURCE = Counted.SOURCE
    ARCHIVE = Counted.ARCHIVE
    PAGE = 64
    DYNAMIC = 65
    """A page that looks like the output of a program: a query, or a program's extension."""

    @property
    def page(self) -> bool:
        return self >= UrlClass.PAGE

    @property
    def dynamic(self) -> bool:
        return self is UrlClass.DYNAMIC


EXTENSIONS: Final = {
    UrlClass.IMAGE: (
        "apng avif bmp cur gif heic heif ico jfif jpe jpeg jpg jxl png psd svg svgz tif tiff webp xbm xcf"
    ),
    UrlClass.AUDIO: "aac aif aiff amr au flac m3u m4a mid midi mka mp2 mp3 oga ogg opus ra ram snd wav wma",
    UrlClass.VIDEO: (
        "3g2 3gp asf avi divx f4v flv m2ts m3u8 m4v mkv mov mp4 mpe mpeg mpg mts ogv qt rm rmvb swf ts vob webm wmv"
    ),
    UrlClass.DOCUMENT: (
        "atom azw azw3 bib chm csv djvu doc docm docx dot dotx dvi dwg eps epub gpx ics json jsonld kml kmz mdb mobi "
        "odp ods odt pdf pot potx pps ppsx ppt pptm pptx ps pub rdf rss rtf sxw tex tsv vcf vsd wpd xls xlsb xlsm "
        "xlsx xml"
    ),
    UrlClass.SOFTWARE: (
        "apk app bin class deb dll dmg exe img ipa iso jar jnlp msi msix ova pkg rpm scr snap vmdk wasm woff woff2 xpi"
    ),
    UrlClass.SOURCE: (
        "c cc cpp cs css cxx diff f f90 go h hh hpp java js kt less lua m4 map mjs pas patch py r rb rs scala scss sh "
        "sql swift vb"
    ),
    UrlClass.ARCHIVE: "7z ace arj bz2 cab cpio gz lha lz lz4 lzh lzma rar tar tbz tbz2 tgz txz warc xz z zip zst",
    UrlClass.DYNAMIC: (
        "action ashx asmx asp aspx axd cfc cfm cfml cgi do fcgi jhtml jsf jsp jspa jspx php php3 php4 php5 php7 phtml "
        "pl rhtml"
    ),
    UrlClass.PAGE: "htm html shtml txt xhtml",
}
"""Any other extension, and none, is a page too: whatever a site invents."""

_CLASSES: Final = {extension: of for of, extensions in EXTENSIONS.items() for extension in extensions.split()}


_PAGE: Final = UrlClass.PAGE
_DYNAMIC: Final = UrlClass.DYNAMIC


def classify(url: str) -> UrlClass:
    """Of a URL in canonical form. A query makes a page dynamic, but an image stays an image.

    What follows the last dot may have a "/" in it: then it is no extension, and not in the table.
    """
    mark = url.find("?")
    path = url if mark < 0 else url[:mark]
    extension = path[path.rfind(".") + 1 :]
    found = _CLASSES.get(extension)
    if found is None:
        found = _CLASSES.get(extension.partition(";")[0].lower(), _PAGE)
    return _DYNAMIC if mark >= 0 and found is _PAGE else found
