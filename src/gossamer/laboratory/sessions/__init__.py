"""Sessions of users from access logs (thesis, chapter 5): how deep they go in a site, and which model says so best.

Lines of logs (`lines`, `formats`) become page views (`judge`), which wait by client (`spool`). Then robots are left out
and views become sessions (`gather`, `trace`), of which only counts are kept (`counts`). Models of surfers
(`rank/surfers.py`) are fitted to these (`fit`), and everything is shown (`present`).
"""
