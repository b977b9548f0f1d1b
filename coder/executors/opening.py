"""Choice of the executor that a user names."""

import os
import re

from coder.core.errors import UserError
from coder.executors.calls import Executor
from coder.executors.local import LocalExecutor

PLACES = "local:N (processes of this machine), ray, or ray://HOST:PORT"


def open_executor(place: str = "") -> Executor:
    """Return the executor for a value of --on; empty: half of this machine's processors.

    Raises:
        UserError: it names no place, or Ray cannot be used.
    """
    if match := re.fullmatch(r"(?:local(?::(\d+))?)?", place):
        count = int(match[1]) if match[1] else max(1, (os.cpu_count() or 2) // 2)
        if count < 1:
            raise UserError("local:0 runs nothing: give local:1 or more.")
        return LocalExecutor(count)
    if place == "ray" or re.fullmatch(r"ray://[^\s/]+:\d+", place):
        from coder.executors.ray_cluster import RayExecutor

        return RayExecutor("" if place == "ray" else place)
    raise UserError(f"{place!r} is no place to run on. There are: {PLACES}.")
