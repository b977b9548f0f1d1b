"""Takes requests from a file and answers through a named pipe; it runs in the project's interpreter.

Stdlib only, Python 3.8 or later. A second named pipe tells that there is a request.
"""

# ruff: noqa: PTH118, PTH123
from __future__ import annotations

import json
import os
import select
from typing import Any


class Channel:
    """This process's end."""

    def __init__(self, place: str, name: str) -> None:
        # For reading and writing both: then neither end waits for the other to be opened, and none ever ends.
        self.requests = os.open(os.path.join(place, f"{name}.requests"), os.O_RDWR)
        self.answers = os.open(os.path.join(place, f"{name}.answers"), os.O_RDWR)
        self.asked = os.path.join(place, f"{name}.asked")

    def next(self, seconds: float | None = None) -> dict[str, Any] | None:
        """The next request; None if none comes in so many seconds."""
        if seconds is not None and not select.select([self.requests], [], [], seconds)[0]:
            return None
        os.read(self.requests, 1)
        return self.asked_for()

    def asked_for(self) -> dict[str, Any]:
        """The latest request, again."""
        with open(self.asked, encoding="utf-8") as file:  # which needs no import
            request: dict[str, Any] = json.load(file)
        return request

    def answer(self, **fields: Any) -> None:
        os.write(self.answers, json.dumps(fields).encode("ascii") + b"\n")

    def close(self) -> None:
        os.close(self.requests)
        os.close(self.answers)
