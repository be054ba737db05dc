"""The real ledger over real HTTP and a real database."""
