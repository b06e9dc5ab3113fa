"""The bandwidth limit inside a worker: token bucket, throttled sockets, and the fetcher that uses both."""
