"""Watching pages for updates: when to look again, what counts as a change, and what it says."""
