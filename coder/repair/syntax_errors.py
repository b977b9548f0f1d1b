"""Repair of files with syntax errors: common slips near the line where the parser stopped."""

import keyword
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from coder.core.ports import Edit, TextChange
from coder.core.verdict import Failure
from coder.python.source import parse_module
from coder.repair.candidates import RepairCandidate
from coder.repair.generators.site import name_similarity

TYPES = frozenset({"SyntaxError", "IndentationError", "TabError"})
MAX_PARSES = 2_000
"""Total number of variants to parse; parsing a long file takes time."""
MAX_CONTINUED, MAX_FURTHER_CORRECTIONS = 4, 2
"""Number of slips to continue from if the parser only stops later, and depth of further slips."""
CERTAIN, LIKELY, POSSIBLE, UNSPECIFIC = 1.0, 0.8, 0.5, 0.3
"""Weights of slips: visible in the text, common, or one character more or less."""
MIN_KEYWORD_SIMILARITY = 0.6
INDENT_WIDTH = 4
"""Spaces of an indent."""
CONFLICT = re.compile(r"^<{7}[^\n]*\n(.*?)(?:^\|{7}[^\n]*\n.*?)?^={7}\n(.*?)^>{7}[^\n]*\n?", re.M | re.S)
LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
TOKEN = re.compile(r"\w+|[^\w\s]")
INSERTED_CHARACTERS = (")", ",", ":", "]", "}", "(", '"', "'", "[", "{", " in ")
FOREIGN_SYNTAX: tuple[tuple[str, str, float], ...] = (
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
"""Pattern of another language, of Python 2, or of swapped characters; its replacement; its weight."""


@dataclass(frozen=True)
class SyntaxCorrection:
    change: TextChange
    weight: float
    summary: str


def find_unparsable_files(failures: Sequence[Failure]) -> dict[str, int]:
    """Return the files that could not be parsed during collection, with the line where the parser stopped."""
    last = (failure.frames[-1] for failure in failures if failure.type in TYPES and failure.frames)
    return {frame.path: frame.line for frame in last if not frame.function}


def correct_syntax_errors(path: str, text: str, line: int) -> list[RepairCandidate]:
    """Return edits at a line after which the file parses, best first; empty if it parses already."""
    file = PurePosixPath(path).name
    candidates = _correct_syntax(
        path, text, line, further=MAX_FURTHER_CORRECTIONS, parses=iter(range(MAX_PARSES))
    )
    return [
        replace(
            candidate, edit=candidate.edit.model_copy(update={"summary": f"{file}: {candidate.edit.summary}"})
        )
        for candidate in candidates
    ]


def _correct_syntax(
    path: str, text: str, line: int, *, further: int, parses: Iterator[int]
) -> list[RepairCandidate]:
    """Search for corrections while `parses` lasts.

    If no single edit is enough and the parser stops later, add up to `further` corrections of later lines.
    """
    if not _error_line(text):
        return []
    corrections: list[RepairCandidate] = []
    partial: list[tuple[SyntaxCorrection, str, int]] = []
    seen_texts = set[str]()
    for slip in _possible_slips(text, line):
        edit = Edit(path=path, changes=(slip.change,), line=line, family="syntax", summary=slip.summary)
        after = edit.apply(text)
        if after in seen_texts:
            continue
        if next(parses, None) is None:
            break
        seen_texts.add(after)
        stop = _error_line(after)
        if not stop:
            corrections.append(RepairCandidate(edit=edit, score=slip.weight, place=f"{path}:{line}"))
        elif stop > line:
            partial.append((slip, after, stop))
    if not corrections and further:
        for slip, after, stop in sorted(partial, key=lambda item: -item[0].weight)[:MAX_CONTINUED]:
            rest = _correct_syntax(path, after, stop, further=further - 1, parses=parses)
            corrections += [combined for item in rest if (combined := _combine(slip, item, line)) is not None]
    return sorted(corrections, key=lambda item: -item.score)


def _combine(slip: SyntaxCorrection, rest: RepairCandidate, line: int) -> RepairCandidate | None:
    """Combine a correction with one of the text behind it; None if the second is not behind the first."""
    first = slip.change
    growth = len(first.text) - (first.end - first.start)
    moved = [
        TextChange(start=change.start - growth, end=change.end - growth, text=change.text)
        for change in rest.edit.changes
    ]
    if moved[0].start < first.end:
        return None
    summary = slip.summary if slip.summary == rest.edit.summary else f"{slip.summary}; {rest.edit.summary}"
    edit = rest.edit.model_copy(update={"changes": (first, *moved), "line": line, "summary": summary})
    return RepairCandidate(edit=edit, score=slip.weight * rest.score, place=f"{rest.edit.path}:{line}")


def _error_line(text: str) -> int:
    """Return the line at which the parser stops; 0 if the text parses."""
    try:
        parse_module(text)
    except SyntaxError as error:
        return error.lineno or 1
    except (ValueError, RecursionError, MemoryError):
        return 1
    return 0


def _possible_slips(text: str, line: int) -> Iterator[SyntaxCorrection]:
    lines = LINE.findall(text)
    if CONFLICT.search(text):
        for side, side_name in ((1, "first"), (2, "second")):
            yield _replace_text(
                text, CONFLICT.sub(rf"\{side}", text), f"keep the {side_name} side of each conflict"
            )
    if "\t" in text:
        for width in (INDENT_WIDTH, 2 * INDENT_WIDTH):
            yield _replace_text(
                text, "".join(_expand_tabs(item, width) for item in lines), "indent with spaces"
            )
    for pattern, replacement in (
        (pattern, replacement) for pattern, replacement, weight in FOREIGN_SYNTAX if weight == CERTAIN
    ):
        new_lines = [_substitute_in_line(item, pattern, replacement) for item in lines]
        if sum(new != old for new, old in zip(new_lines, lines, strict=True)) > 1:
            yield _replace_text(text, "".join(new_lines), "convert to Python 3 syntax")
    current = min(max(line - 1, 0), len(lines) - 1)
    near_lines = [
        current,
        *(place for place in range(current - 1, -1, -1) if lines[place].partition("#")[0].strip()),
    ][:2]
    yield from _indentation_edits(lines, current, near_lines[-1])
    for make in (_foreign_syntax, _missing_colon, _misspelled_keywords, _character_edits):
        for place in near_lines:
            start = sum(map(len, lines[:place]))
            yield from make(lines[place].rstrip("\r\n"), start)


def _replace_text(text: str, new: str, summary: str) -> SyntaxCorrection:
    return SyntaxCorrection(TextChange(start=0, end=len(text), text=new), CERTAIN, summary)


def _substitute_in_line(line: str, pattern: str, replacement: str) -> str:
    code = line.rstrip("\r\n")
    return re.sub(pattern, replacement, code) + line[len(code) :]


def _expand_tabs(line: str, width: int) -> str:
    code = line.lstrip(" \t")
    return line[: len(line) - len(code)].expandtabs(width) + code


def _foreign_syntax(line: str, start: int) -> Iterator[SyntaxCorrection]:
    for pattern, replacement, weight in FOREIGN_SYNTAX:
        for match in re.finditer(pattern, line):
            new = match.expand(replacement)
            summary = f"write `{new.strip()}` instead of `{match[0].strip()}`"
            yield SyntaxCorrection(
                TextChange(start=start + match.start(), end=start + match.end(), text=new), weight, summary
            )


def _missing_colon(line: str, start: int) -> Iterator[SyntaxCorrection]:
    end = len(re.sub(r"\s*(?:#[^'\"]*)?$", "", line))
    yield SyntaxCorrection(
        TextChange(start=start + end, end=start + end, text=":"), LIKELY, "add the missing `:`"
    )


def _misspelled_keywords(line: str, start: int) -> Iterator[SyntaxCorrection]:
    for match in re.finditer(r"[A-Za-z_]\w*", line):
        for word in keyword.kwlist:
            ratio = name_similarity(match[0], word)
            if ratio >= MIN_KEYWORD_SIMILARITY and match[0] != word:
                change = TextChange(start=start + match.start(), end=start + match.end(), text=word)
                yield SyntaxCorrection(change, LIKELY * ratio, f"write `{word}` instead of `{match[0]}`")


def _character_edits(line: str, start: int) -> Iterator[SyntaxCorrection]:
    """Yield edits that insert a character, likeliest at the end of the line, or remove a token."""
    tokens = [*TOKEN.finditer(line)]
    for character in INSERTED_CHARACTERS:
        for match in reversed(tokens):
            place = start + match.end()
            weight = POSSIBLE if match is tokens[-1] else UNSPECIFIC
            yield SyntaxCorrection(
                TextChange(start=place, end=place, text=character),
                weight,
                f"add the missing `{character.strip()}`",
            )
    for match in reversed(tokens):
        yield SyntaxCorrection(
            TextChange(start=start + match.start(), end=start + match.end(), text=""),
            UNSPECIFIC,
            f"remove `{match[0]}`",
        )


def _indentation_edits(lines: Sequence[str], index_of_line: int, above: int) -> Iterator[SyntaxCorrection]:
    """Yield edits that indent a line or block like earlier lines, or add `pass` to an empty block."""
    start = sum(map(len, lines[:index_of_line]))
    current = _indent(lines[index_of_line])
    levels = {_indent(line) for line in lines[:index_of_line] if line.strip()} | {
        _indent(lines[above]) + INDENT_WIDTH
    }
    last = next(
        (
            index
            for index in range(index_of_line + 1, len(lines))
            if lines[index].strip() and _indent(lines[index]) < current
        ),
        len(lines),
    )
    for level in sorted(levels - {current}, key=lambda level: (abs(level - current), level)):
        for end in dict.fromkeys((index_of_line + 1, last)):
            old = "".join(lines[index_of_line:end])
            new = "".join(_shift_line(line, level - current) for line in lines[index_of_line:end])
            yield SyntaxCorrection(
                TextChange(start=start, end=start + len(old), text=new),
                LIKELY,
                "indent like the surrounding lines",
            )
    if lines[above].rstrip().endswith(":"):
        end_of_line = lines[above][len(lines[above].rstrip("\r\n")) :]
        text = f"{' ' * (_indent(lines[above]) + INDENT_WIDTH)}pass{end_of_line}"
        yield SyntaxCorrection(
            TextChange(start=start, end=start, text=text), POSSIBLE, "add `pass` for the missing statement"
        )


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _shift_line(line: str, columns: int) -> str:
    return (
        f"{' ' * columns}{line}"
        if columns > 0 and line.strip()
        else line[min(-columns, _indent(line)) :]
        if columns < 0
        else line
    )
