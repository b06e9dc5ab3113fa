"""The dashboard and HTTP API of collections: `gossamer serve`. It reads what is committed, like any reader; what it
changes goes to the crawl as an order of its owner."""
