"""A verdict in the forms that CI systems show: JUnit XML and SARIF 2.1.0."""

import json
from collections.abc import Iterator
from xml.etree import ElementTree

from coder import __version__
from coder.core.paths import test_file_of
from coder.core.verdict import TestResult, Verdict, VerdictKind

LEVELS = {"break": "error", "cap": "warning", "open": "warning", "note": "note"}
"""SARIF's level of a finding, by its effect."""
SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def junit_xml(verdict: Verdict) -> str:
    """Return JUnit XML: the verdict as one case, and each test that it rests on as another.

    The verdict's case fails where tests broke or stay red, and is skipped where there is no verdict.
    """
    reds = {test.id: test for test in verdict.failures}
    cases = [_verdict_case(verdict)]
    for name in (*verdict.targets, *reds):
        file, _, test = name.partition("::")
        case = ElementTree.Element("testcase", classname=file, name=test or file, file=test_file_of(name))
        if name in reds:
            failure = reds[name].failure
            message = f"{failure.type}: {failure.message}" if failure else reds[name].outcome
            element = ElementTree.SubElement(case, "failure", message=_printable(message))
            element.text = _printable(failure.text if failure else "")
        cases.append(case)
    suite = ElementTree.Element(
        "testsuite",
        name="coder verify",
        tests=str(len(cases)),
        failures=str(sum(case.find("failure") is not None for case in cases)),
        skipped=str(sum(case.find("skipped") is not None for case in cases)),
        time=f"{verdict.seconds:.3f}",
    )
    suite.extend(cases)
    ElementTree.indent(suite)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ElementTree.tostring(suite, encoding="unicode")}\n'


def _verdict_case(verdict: Verdict) -> ElementTree.Element:
    case = ElementTree.Element("testcase", classname="coder verify", name="verdict")
    message = _printable(f"{verdict.label}: {verdict.reason}")
    if verdict.kind in (VerdictKind.BROKEN, VerdictKind.NOT_FIXED):
        ElementTree.SubElement(case, "failure", message=message)
    elif verdict.kind is VerdictKind.NOT_TESTED:
        ElementTree.SubElement(case, "skipped", message=message)
    else:
        ElementTree.SubElement(case, "system-out").text = message
    return case


def _printable(text: str) -> str:
    """Return a text without characters that XML 1.0 forbids."""
    return "".join(char for char in text if char in "\t\n" or " " <= char <= "\ud7ff" or char >= "\ue000")


def sarif_json(verdict: Verdict) -> str:
    """Return SARIF 2.1.0 (OASIS): one result for each red test and each finding."""
    results = tuple(_sarif_results(verdict))
    driver = {
        "name": "coder verify",
        "version": __version__,
        "rules": [{"id": rule} for rule in dict.fromkeys(result["ruleId"] for result in results)],
    }
    run = {"tool": {"driver": driver}, "results": results}
    document = {"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}
    return f"{json.dumps(document, indent=2, ensure_ascii=False)}\n"


def _sarif_results(verdict: Verdict) -> Iterator[dict[str, object]]:
    for rule, tests in (("broken-test", verdict.broken), ("red-test", verdict.still_red)):
        for test in tests:
            error = f": {test.failure.type}: {test.failure.message}" if test.failure else ""
            yield _sarif_result(rule, "error", f"{test.id}{error}", *_place_of(test))
    for found in verdict.findings:
        yield _sarif_result(found.rule, LEVELS[found.effect], found.text, found.path, found.line)


def _sarif_result(rule: str, level: str, text: str, path: str, line: int | None) -> dict[str, object]:
    region = {"region": {"startLine": line}} if line else {}
    place = {"physicalLocation": {"artifactLocation": {"uri": path}, **region}}
    locations = {"locations": [place]} if path else {}
    return {"ruleId": rule, "level": level, "message": {"text": text}, **locations}


def _place_of(test: TestResult) -> tuple[str, int | None]:
    """Return where a test failed: the innermost line of the project's own code, else its file."""
    own = test.failure.own_frames if test.failure else ()
    return (own[-1].path, own[-1].line) if own else (test_file_of(test.id), None)
