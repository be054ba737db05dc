"""The embedded stack: every service of one machine as one supervised tree over one data folder."""
