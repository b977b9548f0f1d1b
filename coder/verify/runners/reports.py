"""Results of tests from what a runner prints or writes: TAP, JUnit XML and others."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from xml.etree import ElementTree

from coder.core.verdict import Failure, Frame, Outcome, TestResult
from coder.files.regular_files import read_regular
from coder.verify.runners.adapter import LONGEST_TEXT, normalize_failure

LARGEST_XML = 64 << 20
TAP_LINE = re.compile(
    r"^(?P<failed>not )?ok\b(?:[ \t]+\d+)?[ \t]*-?[ \t]*(?P<name>[^#\n]*?)[ \t]*"
    r"(?:#[ \t]*(?P<directive>skip|todo)\b[^\n]*)?$",
    re.I,
)
TAP_TITLE = re.compile(r"# (?!.*(?:\bseed\b|\btime\b|\d ?m?s\b))(?P<title>\S.*?)[ \t]*", re.I)
"""The title of a test; not a comment on the run."""
TAP_OUTCOMES: Mapping[str, tuple[Outcome, Outcome]] = {
    "": ("passed", "failed"),
    "skip": ("skipped", "skipped"),
    "todo": ("xpassed", "xfailed"),
}
"""Outcomes of `ok` and `not ok`, by directive."""
FRAME = re.compile(r'^  File "(?P<path>[^"\n]+)", line (?P<line>\d+), in (?P<function>\S+)', re.M)
EXCEPTION_LINE = re.compile(
    r"^(?P<type>[A-Za-z_][\w.]*(?:Error|Exception|Warning|Interrupt|Exit|Failed))(?:: (?P<message>.*))?\Z",
    re.M | re.S,
)


def parse_reports(argv: Sequence[str], output: str, tree: Path, *, since: float) -> tuple[TestResult, ...]:
    """Return the tests in whatever known report a command produced; empty if it produced none.

    A JUnit file counts if the command names it and it was written after `since` (seconds since the epoch).
    """
    for name in re.findall(r"[^\s=:'\"]+\.xml\b", " ".join(argv)):
        report = tree / name
        if (
            report.is_file()
            and not report.is_symlink()
            and report.stat().st_mtime >= since
            and report.stat().st_size < LARGEST_XML
        ):
            return parse_junit(report.read_text(encoding="utf-8", errors="replace"))
    return parse_tap(output)


def parse_junit(text: str) -> tuple[TestResult, ...]:
    """Parse a JUnit XML report; ids are `classname::name`; empty if the text is no such report."""
    return with_unique_ids(
        [
            result.model_copy(update={"id": "::".join(filter(None, (owner, result.id)))})
            for owner, result in junit_cases(text)
        ]
    )


def junit_cases(text: str) -> list[tuple[str, TestResult]]:
    """Parse a JUnit XML report; results are under their bare names, each with its class or file."""
    root = parse_xml(text)
    return [
        (node.get("classname") or node.get("file") or "", _parse_testcase(node))
        for node in (() if root is None else root.iter("testcase"))
    ]


def parse_xml(text: str) -> ElementTree.Element | None:
    """Return the root of a document; None if it is none, or has entities, which can expand without bound."""
    try:
        return None if "<!ENTITY" in text[:10_000] else ElementTree.fromstring(text)
    except ElementTree.ParseError:
        return None


def _parse_testcase(node: ElementTree.Element) -> TestResult:
    outcome: Outcome = "skipped" if node.get("status") in ("disabled", "notrun") else "passed"
    failure = None
    for child in node:
        match child.tag:
            case "failure" | "error":
                outcome = "failed" if child.tag == "failure" else "error"
                text = child.text or node.findtext("system-out") or ""  # CTest writes the latter
                failure = _parse_failure(
                    text, type=child.get("type") or "", message=child.get("message") or ""
                )
            case "skipped":
                outcome = "skipped"
            case _:
                pass
    seconds = node.get("time") or ""
    return TestResult(
        id=node.get("name") or "?",
        outcome=outcome,
        seconds=float(seconds) if re.fullmatch(r"\d+(\.\d+)?", seconds) else 0.0,
        failure=failure,
    )


def parse_tap(output: str) -> tuple[TestResult, ...]:
    """Parse a TAP stream, with descriptions as ids, below the titles that comments give to tests.

    Empty without its plan line, so that a chance `ok` is no test.
    """
    lines = output.splitlines()
    if not any(re.fullmatch(r"\d+\.\.\d+(?:[ \t]*#.*)?", line.strip()) for line in lines):
        return ()
    results: list[TestResult] = []
    titles = _titles(lines)
    for index, line in enumerate(lines):
        if match := TAP_LINE.match(line):
            diagnostics = "\n".join(_diagnostics(lines, index + 1))
            has_failed, directive = bool(match["failed"]), (match["directive"] or "").lower()
            outcome: Outcome = TAP_OUTCOMES[directive][has_failed]
            failure = _parse_failure(diagnostics, type="", message="") if outcome == "failed" else None
            id = " > ".join(filter(None, (titles[index], match["name"] or "test without a name")))
            results.append(TestResult(id=id, outcome=outcome, failure=failure))
    return with_unique_ids(results)


def _titles(lines: Sequence[str]) -> list[str]:
    """Return the title that holds at each line: a comment, as tape prints it, right above a result.

    Comments below a failure explain it; others may differ from run to run.
    """
    titles: list[str] = []
    title, is_diagnostic = "", False
    for line, next_line in zip(lines, [*lines[1:], ""], strict=True):
        if not line.startswith("#"):
            is_diagnostic = line.startswith("not ok")
        elif not is_diagnostic and TAP_LINE.match(next_line) and (match := TAP_TITLE.fullmatch(line)):
            title = match["title"]
        titles.append(title)
    return titles


def _diagnostics(lines: Sequence[str], start: int) -> Iterator[str]:
    """Yield the diagnostic lines below a test's line."""
    for line in lines[start:]:
        if not line.startswith((" ", "#")):
            return
        yield line


def _parse_failure(text: str, *, type: str, message: str) -> Failure:
    """Parse a traceback; type and message of the report itself take precedence."""
    body = text.strip()
    traceback = body.rpartition("Traceback (most recent call last):")[2]
    frames = tuple(
        Frame(path=match["path"], line=int(match["line"]), function=match["function"])
        for match in FRAME.finditer(traceback)
    )
    after = traceback[list(FRAME.finditer(traceback))[-1].end() :] if frames else traceback
    exception = EXCEPTION_LINE.search(message) or EXCEPTION_LINE.search(after)
    return Failure(
        type=(type or (exception["type"] if exception else "")).rpartition(".")[2] or "AssertionError",
        message=(exception["message"] if exception else message or body.partition("\n")[0]).strip(),
        frames=frames,
        text=body[-LONGEST_TEXT:],
    )


def with_unique_ids(results: Sequence[TestResult]) -> tuple[TestResult, ...]:
    """Return the results with unique ids: the second of a name gets `#2`."""
    counts: dict[str, int] = {}
    unique = []
    for result in results:
        counts[result.id] = count = counts.get(result.id, 0) + 1
        unique.append(result if count == 1 else result.model_copy(update={"id": f"{result.id} #{count}"}))
    return tuple(unique)


def read_file(file: Path, tree: Path) -> str:
    """Return the text of a report below a directory; empty if it is missing or too large."""
    return (read_regular(file, within=tree, limit_bytes=LARGEST_XML) or b"").decode("utf-8", "replace")


def with_frames(result: TestResult, id: str, frames: Iterable[Frame]) -> TestResult:
    """Return a result under another id; its failure has these frames and a type that all languages share."""
    failure = result.failure and normalize_failure(result.failure, frames)
    return result.model_copy(update={"id": id, "failure": failure})
