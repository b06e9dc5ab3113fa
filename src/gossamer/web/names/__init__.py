"""Names to addresses: the resolver, name servers, and the guard against failing name servers."""
