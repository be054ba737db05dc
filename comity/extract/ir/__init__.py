"""The intermediate representation: what the compiler makes and every runtime reads."""
