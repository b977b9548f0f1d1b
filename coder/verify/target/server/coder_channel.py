"""Channel to the host: requests come from a file, answers go through a named pipe.

A second named pipe signals a request. Runs in the project's interpreter. Standard library only, Python 3.8 or
later.
"""

# ruff: noqa: PTH118, PTH123
from __future__ import annotations

import json
import os
import select
from typing import Any


class TargetChannel:
    """The target's end of a request channel."""

    def __init__(self, place: str, name: str) -> None:
        # Opened for reading and writing: then opening does not block, and the pipe never reports its end.
        self.requests = os.open(os.path.join(place, f"{name}.requests"), os.O_RDWR)
        self.answers = os.open(os.path.join(place, f"{name}.answers"), os.O_RDWR)
        self.asked = os.path.join(place, f"{name}.asked")

    def next(self, seconds: float | None = None) -> dict[str, Any] | None:
        """Return the next request, None if none arrives within `seconds`."""
        if seconds is not None and not select.select([self.requests], [], [], seconds)[0]:
            return None
        os.read(self.requests, 1)
        return self.latest_request()

    def latest_request(self) -> dict[str, Any]:
        """Return the latest request again."""
        with open(self.asked, encoding="utf-8") as file:  # open() needs no import
            request: dict[str, Any] = json.load(file)
        return request

    def answer(self, **fields: Any) -> None:
        """Send the fields as one line of JSON."""
        os.write(self.answers, json.dumps(fields).encode("ascii") + b"\n")

    def close(self) -> None:
        os.close(self.requests)
        os.close(self.answers)
