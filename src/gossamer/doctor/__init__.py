"""`gossamer doctor`: whether this machine, its line and a collection are fit for a crawl, and what to mend.

`table.py` lists the checks. Nothing is sent to anybody but the operator's own name servers, and to the server of a URL
that the user gave.
"""
