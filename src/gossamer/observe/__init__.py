"""What a crawl tells about itself: statistics, progress, the account of pages, and the status of a page or a site."""
