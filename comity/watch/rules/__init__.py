"""Decisions of watching: facts in, a frozen value out."""
