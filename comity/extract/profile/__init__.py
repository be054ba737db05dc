"""The portable parts of other languages that programs hold: CSS selectors, RE2 patterns, URI references.

The compiler and the runtime read them here, by the same code: what compiles is what runs.
"""
