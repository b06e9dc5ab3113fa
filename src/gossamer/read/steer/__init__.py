"""Orders to a crawl, from another process: URLs to add, pages to request again."""
