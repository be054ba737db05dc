"""HTTP routes: parse, ask a service, map one error to one status."""
