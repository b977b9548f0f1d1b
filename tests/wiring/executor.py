"""An executor that runs calls in this process, with all that they exchange pickled."""

import pickle
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from coder.executors.executor import CallEvent, CallFinished, CallOutput, CallStarted, InlineData


@dataclass
class PicklingExecutor:
    """Runs calls one after the other; `damage` changes results on their way."""

    is_local: bool = True
    damage: Callable[[Any], Any] = lambda package: package
    label = "this process"
    slots = 1

    def __enter__(self) -> "PicklingExecutor":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def share(self, data: bytes) -> InlineData:
        return InlineData(data)

    def run(
        self, function: Callable[..., Any], arguments: Iterable[tuple[str, Any]], **_: Any
    ) -> Iterator[CallEvent[Any]]:
        for key, argument in arguments:
            lines: list[str] = []
            yield CallStarted(key, "here")
            result = function(pickle.loads(pickle.dumps(argument)), lines.append)
            yield from (CallOutput(key, line) for line in lines[::2])  # some lines are lost
            yield CallFinished(key, self.damage(pickle.loads(pickle.dumps(result))))
