"""Signatures of records, which require the key of the run.

Runs in the project's interpreter. Standard library only, Python 3.8 or later. The reader is another process
(coder.verify.launch).
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b


def make_signer(key: str) -> Callable[[bytes], bytes]:
    """Return a function that puts a seal and a sequence number before a record."""
    secret = bytes.fromhex(key)
    count = 0

    def sign(record: bytes) -> bytes:
        nonlocal count
        count += 1
        numbered = b"%d %s" % (count, record)
        return blake2b(numbered, key=secret, digest_size=16).hexdigest().encode("ascii") + b" " + numbered

    return sign
