"""Classes of alternative changes by their answers to the same calls, and the call that tells them apart."""

from collections.abc import Sequence

from coder.behavior.comparison import ACCIDENTAL, NOT_COMPARED, RAISES, TIME_OUT, CallAnswers, CallKey
from coder.core.ports import AnswerClasses


def group_by_answers(alternatives: Sequence[CallAnswers], base: CallAnswers | None = None) -> AnswerClasses:
    """Group alternatives that answer all compared calls alike; `base` are the answers without any.

    Compared are calls that every alternative with answers made, and answers steadily. Calls for which an
    alternative raises an accidental exception or does not end tell nothing, if they are not the tests' own:
    the function cannot take such values, or the machine is busy.
    """
    answered = [answers for answers in alternatives if answers]
    keys = [key for key in (answered[0] if answered else ()) if all(_is_told(key, side) for side in answered)]
    groups: dict[tuple[str, ...] | int, list[int]] = {}
    for place, answers in enumerate(alternatives):
        row = tuple(answers[key].text for key in keys) if answers else ()
        groups.setdefault(row or place, []).append(place)
    rows = [row for row in groups if isinstance(row, tuple)]
    deciding = [index for index in range(len(keys)) if len({row[index] for row in rows}) > 1]
    classes = tuple(map(tuple, groups.values()))
    if not deciding:
        return AnswerClasses(classes=classes)
    before = tuple(base[key].text if base and key in base else "" for key in keys)
    changed = tuple(
        sum(map(str.__ne__, row, before)) if isinstance(row, tuple) else len(keys) for row in groups
    )

    def plainness(index: int) -> tuple[int, bool, int]:
        return -len({row[index] for row in rows}), keys[index].kind == "far", len(keys[index].call)

    chosen = min(deciding, key=plainness)
    texts = (row[chosen] if isinstance(row, tuple) else "" for row in groups)
    shown = tuple(text.partition("; arguments now ")[0].partition("\t")[0] for text in texts)
    return AnswerClasses(
        classes=classes, call=keys[chosen].call, answers=shown, changed=changed if base else ()
    )


def _is_told(key: CallKey, answers: CallAnswers) -> bool:
    answer = answers.get(key)
    if answer is None or not answer.is_steady or answer.again or answer.text == NOT_COMPARED:
        return False
    is_accident = answer.text.startswith((TIME_OUT, *(f"{RAISES}{name}" for name in ACCIDENTAL)))
    return key.kind == "own" or not (is_accident or key.kind == "state")
