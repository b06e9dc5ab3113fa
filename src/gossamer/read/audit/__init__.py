"""The audit of a site: what is wrong with its pages, for whoever runs it."""
