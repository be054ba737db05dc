"""Archive formats: bytes in, bytes out.

WARC/1.1 records (ISO 28500:2017), the CDXJ index with its SURT keys, and WACZ 1.1.1 packages. Knows nothing of
browsers, servers or the clock: record ids and dates come from the caller, so equal facts give equal bytes.
"""
