"""Whether a WACZ holds what it says: each promise of the format checked, and explained.

    verify(file, trust=…) -> Verdict of Steps, each ok, failed or skipped with its reason

Reads archives of any maker. Nothing is written, nothing is fetched, no clock is asked.
"""
