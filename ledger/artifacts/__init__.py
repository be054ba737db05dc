"""What captures left behind, read where the ledger may read: its own folder, its own bucket, and nowhere else."""
