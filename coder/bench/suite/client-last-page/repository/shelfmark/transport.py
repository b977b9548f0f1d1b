"""Requests, and what comes back as JSON."""

import json
import urllib.error
import urllib.parse
import urllib.request

from shelfmark.errors import NotFound, ServiceError

TIMEOUT_SECONDS = 10


def get(base, path, **query):
    """The decoded answer to a GET request.

    Raises:
        NotFound: the server says 404.
        ServiceError: it says another error.
    """
    address = f"{base.rstrip('/')}/{path.lstrip('/')}"
    if query:
        address += f"?{urllib.parse.urlencode(query)}"
    try:
        with urllib.request.urlopen(address, timeout=TIMEOUT_SECONDS) as answer:
            return json.loads(answer.read().decode("utf-8"))
    except urllib.error.HTTPError as error:
        with error:
            kind = NotFound if error.code == 404 else ServiceError
            raise kind(error.code, error.reason) from None
