"""Reads the reports of runners that are not pytest: JUnit XML, TAP, and what Python's unittest prints."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from xml.etree import ElementTree

from coder.core.values.verdict import Failure, Frame, Outcome, TestResult, When

LARGEST_XML = 64 << 20
LONGEST_TEXT = 6000
TAP_LINE = re.compile(
    r"^(?P<failed>not )?ok\b(?:[ \t]+\d+)?[ \t]*-?[ \t]*(?P<name>[^#\n]*?)[ \t]*(?:#[ \t]*(?P<directive>skip|todo)\b[^\n]*)?$",
    re.I,
)
UNITTEST_TEST = re.compile(r"^\s*(?P<name>\w+) \((?P<owner>[\w.<>]+)\)")
UNITTEST_ENDING = re.compile(
    r"(?:^|\.\.\. )(?P<told>ok|FAIL|ERROR|skipped\b.*|expected failure|unexpected success)$"
)
UNITTEST_FAULT = re.compile(
    r"^(?P<kind>FAIL|ERROR): (?P<name>\w+) \((?P<owner>[\w.<>]+)\).*\n(?:(?!-{70}).*\n)?-{70}\n", re.M
)
UNITTEST_END = re.compile(r"^-{70}\nRan \d+ tests? in ", re.M)
RULE = "=" * 70 + "\n"
FRAME = re.compile(r'^  File "(?P<path>[^"\n]+)", line (?P<line>\d+), in (?P<function>\S+)', re.M)
NAMED = re.compile(
    r"^(?P<type>[A-Za-z_][\w.]*(?:Error|Exception|Warning|Interrupt|Exit|Failed))(?:: (?P<message>.*))?\Z",
    re.M | re.S,
)
ENDINGS: dict[str, Outcome] = {
    "ok": "passed",
    "FAIL": "failed",
    "ERROR": "error",
    "expected failure": "xfailed",
    "unexpected success": "xpassed",
}


def reported(argv: Sequence[str], output: str, tree: Path, *, since: float) -> tuple[TestResult, ...]:
    """The tests that a command told of, by whatever report it made; nothing where it made none that is known.

    A JUnit file is one that the command names, written after `since` (seconds since the epoch).
    """
    for file in _named_files(argv, tree):
        if (
            file.is_file()
            and not file.is_symlink()
            and file.stat().st_mtime >= since
            and file.stat().st_size < LARGEST_XML
        ):
            return junit(file.read_text(encoding="utf-8", errors="replace"))
    return unittest(output) or tap(output)


def _named_files(argv: Sequence[str], tree: Path) -> Iterator[Path]:
    for word in re.findall(r"[^\s=:'\"]+\.xml\b", " ".join(argv)):
        yield tree / word


def junit(text: str) -> tuple[TestResult, ...]:
    """The test cases of a JUnit XML report, as `classname::name`; nothing where it is no such report."""
    if "<!ENTITY" in text[:10_000]:  # what expands without end is no report
        return ()
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError:
        return ()
    return _numbered([_case(node) for node in root.iter("testcase")])


def _case(node: ElementTree.Element) -> TestResult:
    owner = node.get("classname") or node.get("file") or ""
    outcome: Outcome = "passed"
    failure = None
    for child in node:
        match child.tag:
            case "failure" | "error":
                outcome = "failed" if child.tag == "failure" else "error"
                failure = _failure(
                    child.text or "", type=child.get("type") or "", message=child.get("message") or ""
                )
            case "skipped":
                outcome = "skipped"
            case _:
                pass
    seconds = node.get("time") or ""
    return TestResult(
        id="::".join(filter(None, (owner, node.get("name") or "?"))),
        outcome=outcome,
        seconds=float(seconds) if re.fullmatch(r"\d+(\.\d+)?", seconds) else 0.0,
        failure=failure,
    )


def tap(output: str) -> tuple[TestResult, ...]:
    """The tests of a TAP stream, by description; nothing without its plan line, so that a chance `ok` is no test."""
    lines = output.splitlines()
    if not any(re.fullmatch(r"\d+\.\.\d+(?:[ \t]*#.*)?", line.strip()) for line in lines):
        return ()
    results: list[TestResult] = []
    for index, line in enumerate(lines):
        if match := TAP_LINE.match(line):
            told = "\n".join(_below(lines, index + 1))
            outcome: Outcome = "failed" if match["failed"] else "passed"
            if match["directive"]:
                outcome = (
                    "skipped"
                    if match["directive"].lower() == "skip"
                    else ("xfailed" if match["failed"] else "xpassed")
                )
            failure = _failure(told, type="", message="") if outcome == "failed" else None
            results.append(
                TestResult(id=match["name"] or f"test {len(results) + 1}", outcome=outcome, failure=failure)
            )
    return _numbered(results)


def _below(lines: Sequence[str], start: int) -> Iterator[str]:
    """The diagnostics that stand below a test's line."""
    for line in lines[start:]:
        if not line.startswith((" ", "#")):
            return
        yield line


def unittest(output: str) -> tuple[TestResult, ...]:
    """The tests that unittest named with -v; nothing where its last lines are missing, for then it did not come to its end."""
    text = output.replace("\r\n", "\n")
    end = UNITTEST_END.search(text)
    if end is None:
        return ()
    listing, *sections = text[: end.start()].split(RULE)
    results = _listed(listing)
    for section in sections:
        if fault := UNITTEST_FAULT.match(section):
            before = results.get(_id(fault))
            if (
                before is None or not before.red or not (before.failure and before.failure.text)
            ):  # of subtests the first is told
                results[_id(fault)] = _result(
                    fault, fault["kind"], _failure(section[fault.end() :], type="", message="")
                )
    return tuple(results.values())


def _listed(listing: str) -> dict[str, TestResult]:
    """By id, what the lines `name (owner) ... ok` say, whatever a test printed among them."""
    found: dict[str, TestResult] = {}
    test: re.Match[str] | None = None
    for line in listing.split("\n"):
        test = UNITTEST_TEST.match(line) or test
        ending = UNITTEST_ENDING.search(line)
        if test and ending:
            told = ending["told"]
            found[_id(test)], test = (
                _result(test, told, Failure(type="", message="") if told in ("FAIL", "ERROR") else None),
                None,
            )
    return found


def _id(match: re.Match[str]) -> str:
    """`module.Class.test`: since Python 3.11 the parentheses hold the name too."""
    owner, name = match["owner"], match["name"]
    return owner if owner.endswith(f".{name}") else f"{owner}.{name}"


def _result(test: re.Match[str], told: str, failure: Failure | None) -> TestResult:
    when: When = (
        "collect"
        if "_FailedTest" in test["owner"]
        else "setup"
        if test["name"] in ("setUpClass", "setUpModule")
        else "call"
    )
    return TestResult(id=_id(test), outcome=ENDINGS.get(told, "skipped"), when=when, failure=failure)


def _failure(text: str, *, type: str, message: str) -> Failure:
    """What a traceback says; what the report itself says comes first."""
    body = text.strip()
    traceback = body.rpartition("Traceback (most recent call last):")[2]
    frames = tuple(
        Frame(path=match["path"], line=int(match["line"]), function=match["function"])
        for match in FRAME.finditer(traceback)
    )
    after = traceback[list(FRAME.finditer(traceback))[-1].end() :] if frames else traceback
    told = NAMED.search(message) or NAMED.search(after)
    return Failure(
        type=(type or (told["type"] if told else "")).rpartition(".")[2] or "AssertionError",
        message=(told["message"] if told else message or body.partition("\n")[0]).strip(),
        frames=frames,
        text=body[-LONGEST_TEXT:],
    )


def _numbered(results: Sequence[TestResult]) -> tuple[TestResult, ...]:
    """The same with ids that occur once: the second of a name gets `#2`."""
    seen: dict[str, int] = {}
    unique = []
    for result in results:
        seen[result.id] = count = seen.get(result.id, 0) + 1
        unique.append(result if count == 1 else result.model_copy(update={"id": f"{result.id} #{count}"}))
    return tuple(unique)
