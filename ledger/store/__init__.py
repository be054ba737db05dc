"""Where the ledger keeps things: the only place with SQL."""
