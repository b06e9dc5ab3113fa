"""SQL queries (DuckDB) on a collection, during the crawl or after. `columns.VIEWS` describes the views."""
