"""Pure decisions: facts in, frozen values out."""
