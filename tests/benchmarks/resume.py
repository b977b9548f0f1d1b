"""Sessions with the real verifier, killed at drawn events, resume to the same verdict and change.

Run: python -m tests.benchmarks resume [POINTS] [SEED]
"""

import random
import sys
import tempfile
import time
from pathlib import Path

from tests.builders import git
from tests.models.fakes import FakeServer, Turn, serve
from tests.models.wires import chat_stream, openai_error
from tests.test_command_line import FIX, ISSUE, LOOK, PATCH, WORSE, Place, call, start_session

POINTS, SEED = 20, 1
MOST_SECONDS = 120.0
AGAIN = Turn(
    text="Minutes are added to the hours.",
    calls=(call("apply_patch", diff=FIX.replace("* 60 - int", "* 60 * int")),),
)
SCRIPTS = {
    "looks, then fixes": (LOOK, PATCH),
    "fails once": (Turn(text="A guess.", calls=(call("apply_patch", diff=WORSE),)), AGAIN),
    "two writes in a reply": (
        LOOK,
        Turn(text="In two steps.", calls=(call("apply_patch", diff=WORSE), AGAIN.calls[0])),
    ),
}
OPTIONS = ("--no-offline-first",)


def read_outcome(place: Place, text: str) -> tuple[str, str]:
    """Return the verdict that was printed, and the delivered change."""
    verdict = next((word for word in ("PROVEN", "PASSING", "GAVE UP") if word in text), text)
    branches = git(place.repository, "for-each-ref", "--format=%(refname)", "refs/heads/coder").split()
    return verdict, git(place.repository, "diff", "HEAD", branches[0]) if branches else ""


def event_lines(place: Place) -> list[str]:
    logs = sorted((Path(place.environment["XDG_STATE_HOME"]) / "coder" / "sessions").glob("*/events.jsonl"))
    return logs[0].read_text(encoding="utf-8").splitlines()[1:] if logs else []


def run_whole(root: Path, server: FakeServer, script: tuple[Turn, ...]) -> tuple[tuple[str, str], int]:
    """Return the outcome of a session that nothing interrupts, and the number of its events."""
    place = Place(root)
    server.turns[:] = script
    output = start_session(place, server, *OPTIONS).communicate()[0]
    return read_outcome(place, output), len(event_lines(place))


def run_killed(
    root: Path, server: FakeServer, script: tuple[Turn, ...], cut: int
) -> tuple[tuple[str, str], str]:
    """Kill a session once it has written `cut` events and resume it; return the outcome and a problem."""
    place = Place(root)
    before = place.user_state()["files"]
    server.turns[:] = script
    running = start_session(place, server, *OPTIONS)
    deadline = time.monotonic() + MOST_SECONDS
    while len(event_lines(place)) < cut and running.poll() is None and time.monotonic() < deadline:
        time.sleep(0.001)
    running.kill()
    running.communicate()
    replies = sum(
        '"role":"assistant"' in line and '"message_finished"' in line for line in event_lines(place)
    )
    server.turns[:] = (*script[replies:], Turn(text="There is no more to do."))
    command = ("fix", ISSUE, "--base-url", f"{server.url}/v1", "--model", "fake", "--trust", "--continue")
    resumed = place.coder(*command, *OPTIONS)
    problem = "" if place.user_state()["files"] == before else "the checkout was changed"
    return read_outcome(place, resumed.stdout), problem or resumed.stderr.strip()


def main() -> int:
    points, seed = (int(text) for text in (*sys.argv[1:], *map(str, (POINTS, SEED)[len(sys.argv) - 1 :])))
    draw = random.Random(seed)
    failures = 0
    with tempfile.TemporaryDirectory() as directory, serve(chat_stream, openai_error, []) as server:
        whole = {}
        for number, (name, script) in enumerate(SCRIPTS.items()):
            whole[name] = run_whole(Path(directory) / f"whole-{number}", server, script)
            print(f"{name}: {whole[name][0][0]}, {whole[name][1]} events", flush=True)
        for number in range(points):
            name = draw.choice(sorted(SCRIPTS))
            outcome, events = whole[name]
            cut = draw.randrange(1, events)
            resumed, problem = run_killed(Path(directory) / str(number), server, SCRIPTS[name], cut)
            is_same = resumed == outcome and not problem
            failures += not is_same
            print(f"{'same' if is_same else 'OTHER'}  {name}, event {cut} of {events}  {problem}", flush=True)
            if not is_same:
                print(f"  {resumed}", flush=True)
    print(f"{points - failures} of {points} resumed to the same verdict and change")
    return failures > 0


if __name__ == "__main__":
    raise SystemExit(main())
