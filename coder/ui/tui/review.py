"""The review of a change: files, hunks and comments."""

from collections.abc import Iterator
from itertools import islice
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.events import Click
from textual.message import Message
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from coder.core.events import ReviewAsked
from coder.core.text import sanitize_text
from coder.core.values import Hunk, HunkComment, HunkDecisions
from coder.core.verdict import Verdict
from coder.core.verdict_summary import lines_of_examples
from coder.patching.git_hunks import split_git_diff
from coder.ui.tui.diff import render_hunk
from coder.ui.tui.keys import Dialog, VimScroll, find_key_bindings

REVIEW_KEYS = (
    "{accept} accept · {reject} reject · {confirm} confirm · esc deliver nothing · "
    "{previous_hunk}/{next_hunk} hunk · {next_file}/{previous_file} file · "
    "{accept_all}/{reject_all} all · {comment} comment"
)
"""Hint, with names of bindings instead of their keys; a low terminal shows only the first line."""
MOST_NOTES = 4


class CommentScreen(ModalScreen[str]):
    """Dismisses with what the user wants to be changed in a hunk; empty takes a comment back."""

    CSS_PATH = "comment.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss(None)", "leave it as it is")]

    def __init__(self, hunk: str, comment: str) -> None:
        super().__init__()
        self._hunk = hunk
        self._comment = comment

    def compose(self) -> ComposeResult:
        with Vertical(id="dialog"):
            yield Static(sanitize_text(f"What should the model change in {self._hunk}?"), markup=False)
            yield Input(self._comment, compact=True)
            yield Static("enter keep it · esc leave it as it is", id="keys", markup=False)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self.dismiss(event.value.strip())


class HunkChoice(Vertical, can_focus=True):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "turn", "turn round", id="turn"),
        Binding("c", "screen.comment_on_hunk", "comment", id="comment"),
    ]

    class Decided(Message):
        """Posted when the user decides on a hunk, or comments on it."""

    def __init__(
        self,
        hunk: Hunk,
        *,
        comment: str = "",
        droppable: bool = False,
        accepted: bool = True,
        is_rendered: bool = True,
    ) -> None:
        """Show a hunk; what is not `is_rendered` takes its height alone, until `show_lines` is called."""
        super().__init__()
        self.hunk = hunk
        self._droppable = droppable
        self.accepted = accepted
        self.comment = comment
        """The user's request for this hunk."""
        self.is_rendered = is_rendered

    def compose(self) -> ComposeResult:
        if not self.is_rendered:
            self.styles.height = 1 + self.hunk.body.count("\n")
            return
        yield Static(self._title, classes="title", markup=False)
        comment = Static(sanitize_text(f"comment: {self.comment}"), classes="comment", markup=False)
        comment.display = bool(self.comment)
        yield comment
        yield from render_hunk(self.hunk)

    @property
    def _title(self) -> str:
        mark = "accepted" if self.accepted else "rejected"
        remarks = [sanitize_text(self.hunk.path)]
        if self._droppable:
            remarks.append("untested: no test fails without it")
        return f"[{mark}] {' · '.join(remarks)}"

    def on_mount(self) -> None:
        self.set_class(not self.accepted, "rejected")

    def show_lines(self) -> None:
        self.is_rendered = True
        self.styles.height = "auto"
        self.refresh(recompose=True)

    def decide(self, *, accepted: bool) -> None:
        self.accepted = accepted
        self.set_class(not accepted, "rejected")
        for title in self.query(".title").results(Static):
            title.update(self._title)
        self.post_message(self.Decided())

    def show_comment(self, text: str) -> None:
        """Keep and show the user's request for this hunk; empty takes it back."""
        self.comment = text
        self.refresh(recompose=True)
        self.post_message(self.Decided())

    def action_turn(self) -> None:
        self.decide(accepted=not self.accepted)

    def on_click(self, event: Click) -> None:
        if event.widget in [*self.query(".title")]:
            self.action_turn()


class ReviewScreen(Dialog[HunkDecisions]):
    """Dismisses with the user's decisions; initially all hunks are accepted."""

    CSS_PATH = "review.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "refuse", "deliver nothing"),
    ]

    def __init__(self, review: ReviewAsked) -> None:
        super().__init__()
        self._review = review

    def compose(self) -> ComposeResult:
        yield Static(id="outcome", markup=False)
        if (verdict := self._review.verdict) is not None:
            yield Static(
                sanitize_text(f"{verdict.label}  {verdict.reason}"),
                classes=f"verdict {verdict.kind.name.lower()}",
                markup=False,
            )
            yield from _behavior_widgets(verdict)
            for note in verdict.notes[:MOST_NOTES]:
                yield Static(sanitize_text(f"noted: {note}"), classes="about", markup=False)
        yield HunkList(self._review)
        hint = find_key_bindings(self).fill(REVIEW_KEYS)
        yield Static(hint, id="keys", markup=False)

    def on_mount(self) -> None:
        self.call_after_refresh(self.on_hunk_choice_decided)

    def focus_first(self) -> None:
        for choice in self.query_one(HunkList).choices[:1]:
            self.set_focus(choice)

    def action_refuse(self) -> None:
        """Accept nothing; the session asks whether that is meant, and may go on with these decisions."""
        self.dismiss(self._decisions.model_copy(update={"refused": True}))

    def on_hunk_choice_decided(self) -> None:
        self._show_outcome(self._describe_outcome())

    def _show_outcome(self, text: str) -> None:
        self.query_one("#outcome", Static).update(f"Review: {text}")

    def _describe_outcome(self) -> str:
        """Return what enter does with the decisions so far."""
        confirm = find_key_bindings(self).label("confirm")
        choices = self.query_one(HunkList).choices
        decisions = self._decisions
        count, accepted = len(choices), len(decisions.accepted)
        if comments := len(decisions.comments):
            noun = f"{comments} comment{'s' * (comments != 1)}"
            return f"{confirm} has the model work on {noun}; then you review again"
        if accepted == count:
            return f"{confirm} delivers the whole fix"
        return (
            f"{accepted} of {count} hunks: {confirm} verifies and delivers them"
            if accepted
            else f"{confirm} delivers nothing"
        )

    @property
    def _decisions(self) -> HunkDecisions:
        choices = self.query_one(HunkList).choices
        return HunkDecisions(
            accepted=tuple(number for number, choice in enumerate(choices) if choice.accepted),
            comments=tuple(
                HunkComment(hunk=number, text=choice.comment)
                for number, choice in enumerate(choices)
                if choice.comment
            ),
        )

    def action_comment_on_hunk(self) -> None:
        choice = self.query_one(HunkList).current

        def keep_comment(text: str | None) -> None:
            if text is not None:
                choice.show_comment(text)

        self.app.push_screen(CommentScreen(choice.hunk.path, choice.comment), keep_comment)

    def on_hunk_list_confirmed(self) -> None:
        self.dismiss(self._decisions)


FIRST_HUNKS = 8
"""Hunks that are rendered at once; the others are when they come into view."""


class HunkList(VimScroll, can_focus=False):
    """List of hunks; its keys work while one of its hunks has the focus."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "previous hunk", show=False, id="previous_hunk"),
        Binding("down,j", "move(1)", "next hunk", show=False, id="next_hunk"),
        Binding("y", "decide(True)", "accept", id="accept"),
        Binding("n", "decide(False)", "reject", id="reject"),
        Binding("a", "decide_all(True)", "accept all", id="accept_all"),
        Binding("r", "decide_all(False)", "reject all", id="reject_all"),
        Binding("f", "jump_file(1)", "next file", id="next_file"),
        Binding("F", "jump_file(-1)", "previous file", id="previous_file"),
        Binding("enter", "confirm", "confirm", id="confirm"),
    ]

    class Confirmed(Message):
        """Posted when the user confirms the decisions."""

    def __init__(self, review: ReviewAsked) -> None:
        super().__init__()
        comment_by_number = {comment.hunk: comment.text for comment in review.comments}
        self.choices = tuple(
            HunkChoice(
                hunk,
                comment=comment_by_number.get(number, ""),
                droppable=number in review.droppable,
                accepted=review.accepted is None or number in review.accepted,
                is_rendered=number < FIRST_HUNKS,
            )
            for number, hunk in enumerate(split_git_diff(review.diff))
        )
        """The hunks, by their numbers."""

    def compose(self) -> ComposeResult:
        yield from self.choices

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self._render_visible_hunks()

    def on_resize(self) -> None:
        self.call_after_refresh(self._render_visible_hunks)

    def _render_visible_hunks(self) -> None:
        """Render the hunks that have come into view; smaller than expected, they bring further ones there."""
        top, bottom = self.scroll_offset.y, self.scroll_offset.y + self.size.height
        hidden = [choice for choice in self.choices if not choice.is_rendered]
        visible = [
            choice
            for choice in hidden
            if choice.virtual_region.y < bottom and choice.virtual_region.bottom > top
        ]
        for choice in visible:
            choice.show_lines()
        if visible:
            self.call_after_refresh(self._render_visible_hunks)
        if (focused := self.screen.focused) in visible:
            focused.call_after_refresh(focused.scroll_visible, animate=False)

    @property
    def current(self) -> HunkChoice:
        """The hunk whose keys are pressed."""
        focused = self.screen.focused
        return focused if isinstance(focused, HunkChoice) else self.choices[0]

    def action_move(self, step: int) -> None:
        """Focus the next or the previous hunk, after the last one the first."""
        choices = self.choices
        choices[(choices.index(self.current) + step) % len(choices)].focus()

    def action_jump_file(self, step: int) -> None:
        """Focus the first hunk of the next or the previous file."""
        first_hunks: dict[str, HunkChoice] = {}
        for choice in self.choices:
            first_hunks.setdefault(choice.hunk.path, choice)
        paths = [*first_hunks]
        place = paths.index(self.current.hunk.path) + step
        if 0 <= place < len(paths):
            first_hunks[paths[place]].focus()

    def action_decide(self, accepted: bool) -> None:
        """Decide on the focused hunk, and go on to the next one if there is one."""
        current = self.current
        current.decide(accepted=accepted)
        if current is not self.choices[-1]:
            self.action_move(1)

    def action_decide_all(self, accepted: bool) -> None:
        with self.prevent(HunkChoice.Decided):
            for choice in self.choices:
                choice.decide(accepted=accepted)
        self.post_message(HunkChoice.Decided())

    def action_confirm(self) -> None:
        self.post_message(self.Confirmed())


MOST_EXAMPLES = 3
"""Changed answers in the head of a review, which leaves room for the diff."""


def _behavior_widgets(verdict: Verdict) -> Iterator[Static]:
    """Yield calls with their results before and after the change."""
    if verdict.behavior is None:
        return
    for lines in islice(lines_of_examples(verdict.behavior), MOST_EXAMPLES):
        yield Static(sanitize_text("\n".join(lines)), classes="behavior", markup=False)
