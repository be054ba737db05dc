"""Signed archives (wacz-auth 0.1.0, https://specs.webrecorder.net/wacz-auth/0.1.0/): made and checked.

What is signed is the text `sha256:…` of `datapackage.json`: ECDSA with SHA-256 by the key of a domain's certificate,
with an RFC 3161 time stamp over that signature. Keys and answers come from the caller: nothing here asks anybody.
"""
