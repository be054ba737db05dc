"""Public test suites, read from the source packages that carry them: `make suites` fetches those."""
