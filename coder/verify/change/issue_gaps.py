"""Gaps between an issue and a change: additions that only its tests use, and errors that nothing raises."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from coder.verify.languages.definitions import find_added_definitions, find_signatures
from coder.verify.results.new_names import find_words

SHOWN = 3
_ASKS_FOR_MORE = re.compile(
    r"(?i)\b(?:add(?:s|ed|ing)?|new|provide[sd]?|introduc\w+|implement\w*|offer\w*|support\w*|allow\w*|option\w*"
    r"|parameters?|arguments?|flags?|settings?|switch\w*|keywords?|features?|expose\w*|export\w*|configur\w+|helper"
    r"|ways? (?:to|of)|possib\w+|ability|able to|enabl\w+|like to|wish|want)\b"
)
"""Words of issues that ask for an addition."""
_ASKS_FOR_ERROR = re.compile(
    r"(?i)\b(?:should|must|ha(?:s|ve) to|ought to|instead of|rather than)\s+(?:(?!not\b|never\b)\w+\s+){0,3}?"
    r"(?:throw|rais|reject|refus)\w*|\binstead of (?:an? )?\w*(?:Error|Exception)\b"
)
_RAISING = re.compile(
    r"(?i)\b(?:throw|raise|reject|panic|abort|fail|bail)\w*\b|\bErr\(|\b\w*(?:Errorf?|Exception)\b"
)
_ERROR = re.compile(r"(?i)throw|rais|reject|refus|panic|err|exception|fail|invalid|exit")
_VARIADIC = re.compile(r"\.\.\.|\*\w")
_OPTIONAL = re.compile(r"=|\?|^\w+:")
"""A default value, a mark of TypeScript, a keyword of Ruby."""
_RECEIVER = re.compile(r"(?:mut )?(?:self|cls|&self|&mut self)\b")


def find_issue_gaps(
    old: Mapping[str, str],
    new: Mapping[str, str],
    tests: Sequence[str],
    *,
    issue: str,
    find_defined: Callable[[], Collection[str]],
) -> Iterator[str]:
    """Yield why a change may leave what the issue is about as it was, half a sentence each.

    `old` and `new` are the changed sources by path, `tests` the sources of all targets, `find_defined`
    returns the names of the functions and types of the base. An issue that asks for an addition may have any.
    """
    if not tests:
        return
    if _ASKS_FOR_ERROR.search(issue) and not _raises_more(old, new) and not any(map(_ERROR.search, tests)):
        yield "the issue asks for an error, which neither the change raises nor a test expects"
    if not _ASKS_FOR_MORE.search(issue):
        yield from _opt_ins(old, new, tests, words=find_words(issue), find_defined=find_defined)


def _opt_ins(
    old: Mapping[str, str],
    new: Mapping[str, str],
    tests: Sequence[str],
    *,
    words: frozenset[str],
    find_defined: Callable[[], Collection[str]],
) -> Iterator[str]:
    """Yield what the change adds that only its tests use."""
    added = find_added_definitions(old, new)
    unasked = added.names - words
    used = [find_words(test) & added.names for test in tests]
    is_unasked = all(used) and not any(names & words for names in used)
    if added.is_all and is_unasked and words & {*find_defined()}:
        names = ", ".join(sorted(set().union(*used))[:SHOWN])
        yield f"the change only adds {names}, which the issue does not name, and edits nothing that it does"
    for name in sorted(unasked):
        if all(_sets(name, test) for test in tests):
            yield f"the tests set {name}, which the change adds and the issue does not name"
    before, after = find_signatures(old), find_signatures(new)
    for name in sorted(before.keys() & after.keys()):
        earlier, later = (split_arguments(signature) for signature in (before[name], after[name]))
        parameters = [_parameter_name(part) for part in later[len(earlier) :] if _OPTIONAL.search(part)]
        if not parameters or _VARIADIC.search(before[name]) or words & {*parameters}:
            continue
        most = len([parameter for parameter in earlier if not _RECEIVER.match(parameter)])
        if all(_passes_more(name, test, most, parameters) for test in tests):
            argument = f"the new argument {parameters[0]}"
            yield f"the tests call {name} only with {argument}, for which the issue does not ask"


def _raises_more(old: Mapping[str, str], new: Mapping[str, str]) -> bool:
    before, after = ("\n".join(texts.values()) for texts in (old, new))
    return len(_RAISING.findall(after)) > len(_RAISING.findall(before))


def split_arguments(text: str) -> list[str]:
    """Return the arguments at the start of a text, which is what follows an opening parenthesis."""
    arguments, depth, quote = [""], 0, ""
    for character in text:
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'`":
            quote = character
        elif character in "([{":
            depth += 1
        elif character in ")]}":
            if depth == 0:
                break
            depth -= 1
        elif character == "," and depth == 0:
            arguments.append("")
            continue
        arguments[-1] += character
    return [argument.strip() for argument in arguments if argument.strip()]


def _parameter_name(parameter: str) -> str:
    """Return the name of a parameter, which stands before a colon or a default value, or last."""
    words = re.findall(r"\w+", re.split(r"[=:]", parameter)[0])
    return words[-1] if words else ""


def _sets(name: str, test: str) -> bool:
    """Tell whether a test assigns to a part of this name, or to this name in a module."""
    part = rf"\b{re.escape(name)}(?:\.\w+|\[[^\]\n]+\])+\s*=(?![=>])"
    return re.search(rf"{part}|\.\s*{re.escape(name)}\s*=(?![=>])", test) is not None


def _passes_more(name: str, test: str, most: int, parameters: Collection[str]) -> bool:
    """Tell whether all calls of a function in a test, at least one, have more arguments than before."""
    calls = [
        split_arguments(test[match.end() :]) for match in re.finditer(rf"\b{re.escape(name)}\s*\(", test)
    ]
    return bool(calls) and all(
        len(call) > most or any(_names_parameter(argument, parameters) for argument in call) for call in calls
    )


def _names_parameter(argument: str, parameters: Collection[str]) -> bool:
    match = re.match(r"(\w+)\s*[:=](?!=)", argument)
    return match is not None and match[1] in parameters
