"""The hostile Web: a server with one site per fault, and a table of how the pages of each site must end.

To use a behaviour in another Web: `await BEHAVIOURS[name].serve(HostileRequest(host, target, fields), Client(writer))`
answers one request for any host and target, and returns whether the connection may be used again. `handle` reads the
requests of a connection and passes each to such a function.
"""
