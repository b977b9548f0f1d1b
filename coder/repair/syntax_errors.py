"""Files that Python cannot read: the slips that are usual where its parser stopped, as far as the file can be read after them."""

import keyword
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from coder.core.ports.repair import Change, Edit
from coder.core.values.verdict import Failure
from coder.python.parsing import parsed
from coder.repair.candidates import Candidate
from coder.repair.context.scope import likeness

TYPES = frozenset({"SyntaxError", "IndentationError", "TabError"})
MOST_PARSED = 2_000
"""Ways of writing a file that are looked at in all; to parse a long one takes its time."""
MOST_BEGUN, FURTHER = 4, 2
"""Of the slips after which the parser stops later, and slips in a row after the first."""
CERTAIN, LIKELY, POSSIBLE, ANY = 1.0, 0.8, 0.5, 0.3
"""What speaks for a slip: the text shows it, it is usual, or it is one character more or less."""
ALIKE = 0.6
STEP = 4
"""Spaces of an indent."""
CONFLICT = re.compile(r"^<{7}[^\n]*\n(.*?)(?:^\|{7}[^\n]*\n.*?)?^={7}\n(.*?)^>{7}[^\n]*\n?", re.M | re.S)
LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
TOKEN = re.compile(r"\w+|[^\w\s]")
INSERTED = (")", ",", ":", "]", "}", "(", '"', "'", "[", "{", " in ")
OTHERWISE: tuple[tuple[str, str, float], ...] = (
    (r"\bprint\s*>>\s*([\w.]+)\s*,\s*(.*\S)", r"print(\2, file=\1)", CERTAIN),
    (r"\bprint\s+(?!\()(.*\S)", r"print(\1)", CERTAIN),
    (r"\bprint\s*$", "print()", CERTAIN),
    (r"\bexec\s+(?!\()(.*\S)", r"exec(\1)", CERTAIN),
    (r"\bexcept\s+([\w.]+|\([^)]*\))\s*,\s*(\w+)\s*:", r"except \1 as \2:", CERTAIN),
    (r"\bexcept\s+([\w.]+(?:\s*,\s*[\w.]+)+)\s*:", r"except (\1):", LIKELY),
    (r"\braise\s+([\w.]+)\s*,\s*(.*\S)", r"raise \1(\2)", CERTAIN),
    (r"`([^`]+)`", r"repr(\1)", CERTAIN),
    (r"(?<![\w.])0+([1-7][0-7]*)\b(?!\.)", r"0o\1", CERTAIN),
    (r"\b(\d+)[lL]\b", r"\1", CERTAIN),
    (r"\bur(?=['\"])", "r", CERTAIN),
    (r"<>", "!=", CERTAIN),
    (r"\belse\s+if\b|\belse?if\b|\belsif\b", "elif", CERTAIN),
    (r"\s*&&\s*", " and ", CERTAIN),
    (r"\s*\|\|\s*", " or ", CERTAIN),
    (r"!(?=[\w(])", "not ", CERTAIN),
    (r"!==", "!=", CERTAIN),
    (r"===|=\s+=", "==", CERTAIN),
    (r"=>", ">=", LIKELY),
    (r"=<", "<=", LIKELY),
    (r"(\w+)\+\+", r"\1 += 1", CERTAIN),
    (r"(\w+)--(?=\s*$)", r"\1 -= 1", CERTAIN),
    (r"\b(?:function|func|fn)\b", "def", CERTAIN),
    (r"\bdef\s+(\w+)\s*:", r"def \1():", CERTAIN),
    (r"\s*\{\s*$", ":", LIKELY),
    (r"(?<![=!<>:+\-*/%&|^])=(?!=)", "==", LIKELY),
    (r"(?<![=!<>:+\-*/%&|^])==(?!=)", "=", POSSIBLE),
)
"""What stands in a line of another language or of Python 2, or is written the wrong way round; what is meant; and what speaks for it."""


@dataclass(frozen=True)
class Slip:
    change: Change
    weight: float
    summary: str


def unreadable(failures: Sequence[Failure]) -> dict[str, int]:
    """The files that kept tests from being collected because Python cannot read them, with the line where it stopped."""
    last = (failure.frames[-1] for failure in failures if failure.type in TYPES and failure.frames)
    return {frame.path: frame.line for frame in last if not frame.function}


def rereadable(path: str, text: str, line: int) -> list[Candidate]:
    """Edits at a line after which the file can be read, the likeliest first; nothing where it can be read."""
    file = PurePosixPath(path).name
    made = _read_again(path, text, line, further=FURTHER, parses=iter(range(MOST_PARSED)))
    return [
        replace(item, edit=item.edit.model_copy(update={"summary": f"{file}: {item.edit.summary}"}))
        for item in made
    ]


def _read_again(path: str, text: str, line: int, *, further: int, parses: Iterator[int]) -> list[Candidate]:
    """As long as there are `parses`; where no edit is enough, and the parser stops later, so many `further` ones are mended with it."""
    if not _stops(text):
        return []
    found: list[Candidate] = []
    begun: list[tuple[Slip, str, int]] = []
    seen = set[str]()
    for slip in _slips(text, line):
        edit = Edit(path=path, changes=(slip.change,), line=line, family="syntax", summary=slip.summary)
        after = edit.apply(text)
        if after in seen:
            continue
        if next(parses, None) is None:
            break
        seen.add(after)
        stop = _stops(after)
        if not stop:
            found.append(Candidate(edit=edit, score=slip.weight, place=f"{path}:{line}"))
        elif stop > line:
            begun.append((slip, after, stop))
    if not found and further:
        for slip, after, stop in sorted(begun, key=lambda item: -item[0].weight)[:MOST_BEGUN]:
            rest = _read_again(path, after, stop, further=further - 1, parses=parses)
            found += [whole for item in rest if (whole := _both(slip, item, line)) is not None]
    return sorted(found, key=lambda item: -item.score)


def _both(slip: Slip, rest: Candidate, line: int) -> Candidate | None:
    """A slip mended with what comes behind it; None where that is not behind it."""
    first = slip.change
    grown = len(first.text) - (first.end - first.start)
    moved = [
        Change(start=change.start - grown, end=change.end - grown, text=change.text)
        for change in rest.edit.changes
    ]
    if moved[0].start < first.end:
        return None
    told = slip.summary if slip.summary == rest.edit.summary else f"{slip.summary}; {rest.edit.summary}"
    edit = rest.edit.model_copy(update={"changes": (first, *moved), "line": line, "summary": told})
    return Candidate(edit=edit, score=slip.weight * rest.score, place=f"{rest.edit.path}:{line}")


def _stops(text: str) -> int:
    """The line at which Python stops reading; 0 where it reads all."""
    try:
        parsed(text)
    except SyntaxError as error:
        return error.lineno or 1
    except (ValueError, RecursionError, MemoryError):
        return 1
    return 0


def _slips(text: str, line: int) -> Iterator[Slip]:
    lines = LINE.findall(text)
    if CONFLICT.search(text):
        for side, what in ((1, "first"), (2, "second")):
            yield _whole(text, CONFLICT.sub(rf"\{side}", text), f"keep the {what} side of each conflict")
    if "\t" in text:
        for width in (STEP, 2 * STEP):
            yield _whole(text, "".join(_spaced(item, width) for item in lines), "indent with spaces")
    for pattern, meant in ((pattern, meant) for pattern, meant, weight in OTHERWISE if weight == CERTAIN):
        again = [_everywhere(item, pattern, meant) for item in lines]
        if sum(new != old for new, old in zip(again, lines, strict=True)) > 1:
            yield _whole(text, "".join(again), "write as Python 3 does, everywhere")
    here = min(max(line - 1, 0), len(lines) - 1)
    near = [here, *(place for place in range(here - 1, -1, -1) if lines[place].partition("#")[0].strip())][:2]
    yield from _indents(lines, here, near[-1])
    for make in (_otherwise, _colon, _words, _characters):
        for place in near:
            start = sum(map(len, lines[:place]))
            yield from make(lines[place].rstrip("\r\n"), start)


def _whole(text: str, new: str, summary: str) -> Slip:
    return Slip(Change(start=0, end=len(text), text=new), CERTAIN, summary)


def _everywhere(line: str, pattern: str, meant: str) -> str:
    code = line.rstrip("\r\n")
    return re.sub(pattern, meant, code) + line[len(code) :]


def _spaced(line: str, width: int) -> str:
    code = line.lstrip(" \t")
    return line[: len(line) - len(code)].expandtabs(width) + code


def _otherwise(line: str, start: int) -> Iterator[Slip]:
    for pattern, meant, weight in OTHERWISE:
        for match in re.finditer(pattern, line):
            new = match.expand(meant)
            summary = f"write `{new.strip()}` instead of `{match[0].strip()}`"
            yield Slip(
                Change(start=start + match.start(), end=start + match.end(), text=new), weight, summary
            )


def _colon(line: str, start: int) -> Iterator[Slip]:
    end = len(re.sub(r"\s*(?:#[^'\"]*)?$", "", line))
    yield Slip(Change(start=start + end, end=start + end, text=":"), LIKELY, "put the missing `:`")


def _words(line: str, start: int) -> Iterator[Slip]:
    for match in re.finditer(r"[A-Za-z_]\w*", line):
        for word in keyword.kwlist:
            alike = likeness(match[0], word)
            if alike >= ALIKE and match[0] != word:
                change = Change(start=start + match.start(), end=start + match.end(), text=word)
                yield Slip(change, LIKELY * alike, f"write `{word}` instead of `{match[0]}`")


def _characters(line: str, start: int) -> Iterator[Slip]:
    """One sign more, the likeliest at the end, or one less."""
    tokens = [*TOKEN.finditer(line)]
    for sign in INSERTED:
        for match in reversed(tokens):
            place = start + match.end()
            weight = POSSIBLE if match is tokens[-1] else ANY
            yield Slip(Change(start=place, end=place, text=sign), weight, f"put the missing `{sign.strip()}`")
    for match in reversed(tokens):
        yield Slip(
            Change(start=start + match.start(), end=start + match.end(), text=""),
            ANY,
            f"take `{match[0]}` away",
        )


def _indents(lines: Sequence[str], here: int, above: int) -> Iterator[Slip]:
    """The line, or all down to the next that is indented less, at the indents of the lines before it; or `pass` in what is empty."""
    start = sum(map(len, lines[:here]))
    own = _indent(lines[here])
    levels = {_indent(line) for line in lines[:here] if line.strip()} | {_indent(lines[above]) + STEP}
    last = next(
        (
            place
            for place in range(here + 1, len(lines))
            if lines[place].strip() and _indent(lines[place]) < own
        ),
        len(lines),
    )
    for level in sorted(levels - {own}, key=lambda level: (abs(level - own), level)):
        for end in dict.fromkeys((here + 1, last)):
            old = "".join(lines[here:end])
            new = "".join(_moved(line, level - own) for line in lines[here:end])
            yield Slip(
                Change(start=start, end=start + len(old), text=new), LIKELY, "indent as the lines around"
            )
    if lines[above].rstrip().endswith(":"):
        end_of_line = lines[above][len(lines[above].rstrip("\r\n")) :]
        text = f"{' ' * (_indent(lines[above]) + STEP)}pass{end_of_line}"
        yield Slip(
            Change(start=start, end=start, text=text), POSSIBLE, "put `pass` where a statement is missing"
        )


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _moved(line: str, by: int) -> str:
    return (
        f"{' ' * by}{line}"
        if by > 0 and line.strip()
        else line[min(-by, _indent(line)) :]
        if by < 0
        else line
    )
