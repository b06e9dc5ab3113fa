"""The hostile Web: a server made of faults, a site for each, and how the pages of each must end.

To put a behaviour into another Web: `await BEHAVIOURS[name].serve(Asked(host, target, fields), Line(writer))` answers
one request, whatever the host and the target, and says whether the connection may be used again; `handle` reads the
requests of a connection and has each answered by a function like that.
"""
