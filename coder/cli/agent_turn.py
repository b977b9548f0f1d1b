"""Answer to an agent's event, without the parser of the command line: an agent waits for it in each turn."""

import json
import os
import sys
from typing import TYPE_CHECKING, Any

from coder.core.text import parse_json, sanitize_text
from coder.hooks.agents import SECONDS, Agent
from coder.hooks.judging import answer_agent

if TYPE_CHECKING:
    from coder.api import Result
    from coder.hooks.judging import Judge

MARGIN_SECONDS = 60.0
"""A check ends so long before the time limit of its hook."""


def answer_event(agent: Agent, *, unsafe_no_sandbox: bool) -> int:
    """Read an agent's event from standard input and print the answer as JSON; return the exit code."""
    try:
        event = parse_json(sys.stdin.read())
    except ValueError:
        event = None
    if not isinstance(event, dict):
        print("coder hook run reads an agent's event, a JSON object, from standard input.", file=sys.stderr)
        return 1  # not 2, by which agents mean a refusal
    answer = answer_agent(
        agent,
        event,
        judge=_make_judge(unsafe_no_sandbox=unsafe_no_sandbox),
        project=os.environ.get(agent.project_variable, ""),
    )
    if answer:
        print(json.dumps({name: sanitize_text(text) for name, text in answer.items()}))
    if message := answer.get("systemMessage"):
        print(sanitize_text(message), file=sys.stderr)  # not all agents show the message without an interface
    return 0


def _make_judge(*, unsafe_no_sandbox: bool) -> "Judge":
    """Return what judges in time for the hook's limit, and ends in order when the agent stops the hook."""
    from threading import Event, Timer

    def judge(**change: Any) -> "Result":
        from coder import api  # which takes long to load, and only a change is judged
        from coder.cli.running import clean_up_if_killed, end_on_signals

        stop = Event()
        timer = Timer(SECONDS - MARGIN_SECONDS, stop.set)
        timer.daemon = True
        timer.start()
        try:
            with clean_up_if_killed(), end_on_signals(stop.set):
                return api.verify(**change, unsafe_no_sandbox=unsafe_no_sandbox, in_turn=True, stop=stop)
        finally:
            timer.cancel()

    return judge
