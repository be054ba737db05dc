"""`comity replay`: archives shown by ReplayWeb.page in the user's own browser, from an origin of their own."""
