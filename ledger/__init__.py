"""The ledger: what next, when to stop, who may see. It repeats; flows do one level."""
