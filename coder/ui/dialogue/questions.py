"""Questions of a session as lines, and the answers to them."""

from collections.abc import Sequence
from typing import NamedTuple

from coder.core.commands import Amend, Answer, Decide, SessionCommand
from coder.core.events import Event, PlanAsked, QuestionAsked, ReviewAsked
from coder.core.values.hunk import HunkComment
from coder.core.values.plan import format_plan
from coder.patching.git_hunks import split_git_diff

YES, NO = ("y", "yes"), ("n", "no", "")


class PrintedQuestion(NamedTuple):
    """A question as it is printed."""

    lines: Sequence[str]
    prompt: str


def describe_question(event: Event) -> PrintedQuestion | None:
    """Return the question that an event asks; None if it asks none."""
    match event:
        case QuestionAsked(text=text, options=options, default=default, takes_instruction=takes_instruction):
            choices = [f"{number} for {option}" for number, option in enumerate(options, start=1)]
            if default == options[-1]:
                choices = [f"y for {options[0]}", f"n for {default}", *choices[1:-1]]
            if takes_instruction:
                choices.append("or what to do instead")
            return PrintedQuestion([text], f"{', '.join(choices)}: ")
        case ReviewAsked(diff=diff, verdict=verdict):
            about = f" It is {verdict.label}: {verdict.reason}" if verdict else ""
            lines = [f"The change is ready for your review.{about}", *diff.splitlines()]
            return PrintedQuestion(lines, "y to deliver it, n to refuse it, or what to change: ")
        case PlanAsked(plan=plan):
            lines = ["A plan is ready.", *format_plan(plan).splitlines()]
            return PrintedQuestion(lines, "y to run it, n to refuse it: ")
        case _:
            return None


def answer_command(event: Event, reply: str) -> SessionCommand:
    """Return the command that answers a question with what the user typed.

    What is unclear is the safe answer.
    """
    match event:
        case QuestionAsked(question=question, options=options, default=default):
            option = _find_option(reply, options, default=default)
            instruction = reply if event.takes_instruction and not option else ""
            return Answer(question=question, option=option or default, instruction=instruction)
        case ReviewAsked(question=question, diff=diff):
            hunks = tuple(range(len(split_git_diff(diff))))
            if reply.lower() in YES:
                return Decide(question=question, accepted=hunks)
            if reply.lower() in NO:
                return Decide(question=question, accepted=())
            return Decide(question=question, accepted=hunks, comments=(HunkComment(hunk=0, text=reply),))
        case PlanAsked(question=question, plan=plan):
            return Amend(question=question, plan=plan if reply.lower() in YES else None)
        case _:
            raise ValueError(f"{event.type} asks nothing")


def choose_option(reply: str, options: Sequence[str], *, default: str) -> str:
    """Return the option that a reply names: y the first, a number, or its own words; else the default."""
    return _find_option(reply, options, default=default) or default


def _find_option(reply: str, options: Sequence[str], *, default: str) -> str:
    """Return the option that a reply names; empty if it names none."""
    answer = reply.lower()
    if answer in YES and default == options[-1]:
        return options[0]
    if answer.isdecimal() and 0 < int(answer) <= len(options):
        return options[int(answer) - 1]
    if answer in NO:
        return default
    return next((option for option in options if option.lower() == answer), "")
