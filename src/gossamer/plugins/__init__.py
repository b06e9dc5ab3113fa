"""Plug-ins: code of the user, or of an installed package, that the crawl runs in places made for it.

`kinds.py` has the table of kinds: each a protocol with a version. `find.py` finds what the settings name, and loads it;
`trust.py` keeps which files this user has confirmed on this machine.
"""
