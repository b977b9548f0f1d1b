"""Record of a session of the demo, from which the tutorial's pictures are drawn.

    coder demo --offline && python -m docs.generators.demo_session
    DRAW_PICTURES=1 python -m pytest tests/docs/test_site.py

It is that of the newest session; its paths are made neutral.
"""

import sys
from pathlib import Path

from coder.files.regular_files import sessions_directory
from coder.session.log import boundary_events

RECORD = Path(__file__).parents[2] / "tests" / "docs" / "demo_session" / "events.jsonl"
REPOSITORY, INTERPRETER = "/tmp/coder-demo-k3v9x1/worklog", "/home/ada/coder-venv"
ENVIRONMENT = '"type":"environment_recorded"'
"""Event that lists what is installed here, which no picture shows."""


def main() -> None:
    session = max(sessions_directory().iterdir())
    started, _ = boundary_events(session)
    if started is None:
        sys.exit(f"{session} holds no session.")
    text = (session / "events.jsonl").read_text(encoding="utf-8")
    text = text.replace(started.repository, REPOSITORY).replace(sys.prefix, INTERPRETER)
    lines = [line for line in text.splitlines(keepends=True) if ENVIRONMENT not in line]
    RECORD.write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
