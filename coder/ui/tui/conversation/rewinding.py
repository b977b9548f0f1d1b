"""Choice of an earlier point of a conversation."""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from textual.app import App

from coder.core.errors import UserError
from coder.core.events import QuestionAsked
from coder.core.values.task import Restore
from coder.core.values.text import sanitize_text, shorten_line
from coder.ui.tui.screens.question import QuestionScreen

if TYPE_CHECKING:
    from coder.session.log import EventLog
    from coder.ui.tui.services import SessionArchive

PARTS: dict[str, Restore] = {
    "code and conversation": "both",
    "conversation only": "conversation",
    "code only": "code",
}
STAY = "stay here"
TEXT_CHARACTERS = 60


class ChosenPoint(NamedTuple):
    """A point of the conversation, and what returns to it."""

    request: int
    """Number of the request before which it is, from 1."""
    restore: Restore


class EarlierPoint(NamedTuple):
    """A point of the conversation that was returned to."""

    log: "EventLog"
    sentence: str
    left: tuple[str, ...]
    """Requests that are not in the conversation any more."""


async def go_back(
    app: App[None], archive: "SessionArchive | None", session: str, text: str
) -> EarlierPoint | None:
    """Store the point that the user names or chooses, and return it; None to stay.

    Call it from a worker.

    Raises:
        CoderError: there is nothing to go back to.
    """
    if archive is None or not session:
        raise UserError("There is nothing to go back to yet.")
    requests = await asyncio.to_thread(archive.requests, session)
    point = await choose_point(app, requests, text)
    if point is None:
        return None
    stored, sentence = await asyncio.to_thread(archive.go_back, session, point.request, point.restore)
    left = () if point.restore == "code" else tuple(requests[point.request - 1 :])
    return EarlierPoint(await asyncio.to_thread(archive.load, stored), sentence, left)


async def choose_point(app: App[None], requests: Sequence[str], typed: str) -> ChosenPoint | None:
    """Return the point that the user names, or chooses among the requests; None to stay.

    Call it from a worker.

    Raises:
        UserError: what is typed is no number of a request.
    """
    if typed and not (typed.isdecimal() and 1 <= int(typed) <= len(requests)):
        raise UserError(f"There is no request {typed}: this conversation has {len(requests)}.")
    request = int(typed) if typed else await _choose_request(app, requests)
    if request is None:
        return None
    part = await _choose(app, f"What goes back to before request {request}?", (*PARTS, STAY))
    return None if part == STAY else ChosenPoint(request, PARTS[part])


async def _choose_request(app: App[None], requests: Sequence[str]) -> int | None:
    lines = [
        f"{number}  {sanitize_text(shorten_line(' '.join(text.split()), TEXT_CHARACTERS))}"
        for number, text in enumerate(requests, start=1)
    ]
    line = await _choose(app, "Go back to before which request?", (*lines, STAY))
    return None if line == STAY else int(line.split()[0])


async def _choose(app: App[None], text: str, options: tuple[str, ...]) -> str:
    question = QuestionAsked(question="rewind", text=text, options=options, default=STAY)
    return (await app.push_screen_wait(QuestionScreen(question))).option
