"""The browser's only way to the network: a SOCKS5 proxy of this process on loopback that judges every address.

`guard` listens, `socks` speaks the protocol, `reach` connects, `tunnel` carries the bytes, `book` remembers where
connections really went, or why they did not.
"""
