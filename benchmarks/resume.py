"""Sessions with the real verifier, killed at drawn events, resume to the same verdict and change.

Run: python -m benchmarks resume [POINTS] [SEED]
"""

import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.builders import git
from tests.models.fakes import FakeHandler, FakeServer, Turn, serve
from tests.models.wires import chat_stream, openai_error
from tests.place import FIX, ISSUE, LOOK, PATCH, WORSE, Place, call
from tests.walls import flags

POINTS, SEED = 20, 1
MOST_SECONDS = 120.0
MOST_REPLIES = 4
FOLLOW_UP = "Now say in a comment what minutes returns."
AGAIN = Turn(
    text="Minutes are added to the hours.",
    calls=(call("apply_patch", diff=FIX.replace("* 60 - int", "* 60 * int")),),
)
GUESS = Turn(text="A guess.", calls=(call("apply_patch", diff=WORSE),))
COMMENT = Turn(
    text="A comment says it.",
    calls=(
        call(
            "apply_patch",
            diff="--- a/clock.py\n+++ b/clock.py\n@@ -1 +1,2 @@\n def minutes(text):\n+    # In minutes.\n",
        ),
    ),
)
END = Turn(text="There is no more to do.")
Messages = Sequence[dict[str, Any]]


def answer_in_turn(*turns: Turn) -> Callable[[Messages], Turn]:
    """Return a model that answers by the number of its replies in the conversation."""

    def answer(messages: Messages) -> Turn:
        number = sum(message["role"] == "assistant" for message in messages)
        return turns[number] if number < len(turns) else END

    return answer


def answer_in_branches(messages: Messages) -> Turn:
    """Guess wrongly, and find the fix only where another way is asked for.

    A branch has the guess, or it has not: of the two changes one is refused.
    """
    if "find another way" not in json.dumps(messages):
        return answer_in_turn(LOOK, GUESS)(messages)
    number = sum(message["role"] == "assistant" for message in messages)
    return Turn(text="Both.", calls=(PATCH.calls[0], AGAIN.calls[0])) if number < MOST_REPLIES else END


@dataclass(frozen=True)
class Scenario:
    """Requests of one conversation, of which the last is killed."""

    answer: Callable[[Messages], Turn]
    options: tuple[str, ...] = ()
    follow_up: str = ""


SCENARIOS = {
    "looks, then fixes": Scenario(answer_in_turn(LOOK, PATCH)),
    "fails once": Scenario(answer_in_turn(GUESS, AGAIN)),
    "two writes in a reply": Scenario(
        answer_in_turn(LOOK, Turn(text="In two steps.", calls=(GUESS.calls[0], AGAIN.calls[0])))
    ),
    "follow-up": Scenario(answer_in_turn(LOOK, PATCH, COMMENT), follow_up=FOLLOW_UP),
    "tree": Scenario(answer_in_branches, ("--strategy", "tree")),
}


class AnswerHandler(FakeHandler):
    """Answers each request by the scenario that runs."""

    answer: Callable[[Messages], Turn]

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self._stream(type(self).answer(body["messages"]))


def start(
    place: Place, server: FakeServer, scenario: Scenario, *, resumes: bool = False
) -> "subprocess.Popen[str]":
    """Start the last request of a scenario, or start it again where the killed session stopped."""
    continues = resumes or bool(scenario.follow_up)
    request = ("do", scenario.follow_up) if scenario.follow_up else ("fix", ISSUE)
    command = place.command(
        *request,
        *("--base-url", f"{server.url}/v1", "--model", "fake", "--trust"),
        *scenario.options,
        *(("--continue",) if continues else ()),
        *(flags() if scenario.follow_up else ()),
    )
    return subprocess.Popen(
        command,
        cwd=place.repository,
        env=place.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def prepare(root: Path, server: FakeServer, scenario: Scenario) -> Place:
    """Make the repository and carry out the requests before the one that is killed."""
    AnswerHandler.answer = staticmethod(scenario.answer)
    place = Place(root)
    if scenario.follow_up:
        first = place.fix(server)
        assert first.returncode == 0, first.stdout + first.stderr
    return place


def read_outcome(place: Place, text: str) -> tuple[str, str]:
    """Return the verdict that was printed, and the delivered change."""
    verdict = next((word for word in ("PROVEN", "PASSING", "GAVE UP") if word in text), text)
    branches = git(place.repository, "for-each-ref", "--format=%(refname)", "refs/heads/coder").split()
    return verdict, git(place.repository, "diff", "HEAD", branches[0]) if branches else ""


def event_lines(place: Place, number: int) -> list[str]:
    """Return the events of a session, the oldest being number 0; none if it has not begun."""
    logs = sorted((Path(place.environment["XDG_STATE_HOME"]) / "coder" / "sessions").glob("*/events.jsonl"))
    return logs[number].read_text(encoding="utf-8").splitlines()[1:] if len(logs) > number else []


def run_whole(root: Path, server: FakeServer, scenario: Scenario) -> tuple[tuple[str, str], int]:
    """Return the outcome of a session that nothing interrupts, and the number of its events."""
    place = prepare(root, server, scenario)
    output = start(place, server, scenario).communicate()[0]
    return read_outcome(place, output), len(event_lines(place, bool(scenario.follow_up)))


def run_killed(root: Path, server: FakeServer, scenario: Scenario, cut: int) -> tuple[tuple[str, str], str]:
    """Kill a session once it has written `cut` events and resume it; return the outcome and a problem."""
    place = prepare(root, server, scenario)
    before = place.user_state()["files"]
    running = start(place, server, scenario)
    deadline = time.monotonic() + MOST_SECONDS
    number = int(bool(scenario.follow_up))
    while len(event_lines(place, number)) < cut and running.poll() is None and time.monotonic() < deadline:
        time.sleep(0.001)
    running.kill()
    running.communicate()
    output = start(place, server, scenario, resumes=True).communicate(timeout=MOST_SECONDS)[0]
    problem = "" if place.user_state()["files"] == before else "the checkout was changed"
    return read_outcome(place, output), problem


def main() -> int:
    points, seed = (int(text) for text in (*sys.argv[1:], *map(str, (POINTS, SEED)[len(sys.argv) - 1 :])))
    draw = random.Random(seed)
    failures = 0
    with (
        tempfile.TemporaryDirectory() as directory,
        serve(chat_stream, openai_error, [], AnswerHandler) as server,
    ):
        whole = {}
        for number, (name, scenario) in enumerate(SCENARIOS.items()):
            whole[name] = run_whole(Path(directory) / f"whole-{number}", server, scenario)
            print(f"{name}: {whole[name][0][0]}, {whole[name][1]} events", flush=True)
        for number in range(points):
            name = sorted(SCENARIOS)[number % len(SCENARIOS)]
            outcome, events = whole[name]
            cut = draw.randrange(1, events)
            resumed, problem = run_killed(Path(directory) / str(number), server, SCENARIOS[name], cut)
            is_same = resumed == outcome and not problem
            failures += not is_same
            print(f"{'same' if is_same else 'OTHER'}  {name}, event {cut} of {events}  {problem}", flush=True)
            if not is_same:
                print(f"  {resumed}", flush=True)
    print(f"{points - failures} of {points} resumed to the same verdict and change")
    return failures > 0


if __name__ == "__main__":
    raise SystemExit(main())
