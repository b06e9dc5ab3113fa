"""Telling: events of watched pages become messages, to webhooks and to commands. It reads what the crawl has committed,
in a process of its own, so a crawl never waits for it."""
