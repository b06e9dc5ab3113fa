"""The desk's state in memory: columns by page, site and origin, tables, and the parts that own them."""
