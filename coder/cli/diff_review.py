"""Review of a change on the terminal, outside of the interface."""

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from coder.core.values.hunk import HunkDecisions
    from coder.core.values.verdict import Verdict
    from coder.ui.tui.widgets.review.hunk_choice import ReviewPurpose


def can_review() -> bool:
    """Return whether there is a terminal on which the user can review a change."""
    streams = (sys.stdin, sys.stdout, sys.stderr)
    return all(stream.isatty() for stream in streams) and os.environ.get("TERM") != "dumb"


def review_on_terminal(
    diff: str, *, purpose: "ReviewPurpose", title: str, verdict: "Verdict | None"
) -> "HunkDecisions | None":
    """Show a change on the whole terminal; return the user's decisions, None without any.

    `verdict` is that on this very diff.
    """
    from coder.cli.tui_services import remembered_theme
    from coder.core.events import ReviewAsked
    from coder.session.delivery.removable_hunks import removable_hunk_numbers
    from coder.settings import load_config
    from coder.ui.tui.keys import read_key_bindings
    from coder.ui.tui.review_app import ReviewApp

    droppable = removable_hunk_numbers(diff, verdict.guarded) if verdict else ()
    review = ReviewAsked(question="", diff=diff, droppable=droppable, verdict=verdict)
    keys = read_key_bindings(load_config(None, {}).keys)
    return ReviewApp(review, purpose=purpose, title=title, theme=remembered_theme(), keys=keys).run()
