"""What the ledger does, one decision a file."""
