"""The bandwidth contract: how many requests may start, and how fast each server is."""
