"""Pure rules and settings of the ledger."""
