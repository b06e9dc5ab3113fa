"""SQL over a collection (DuckDB), while it is crawled or after. What it shows is in `columns.VIEWS`."""
