"""A verdict as JUnit XML, which CI systems show."""

from xml.etree import ElementTree

from coder.core.paths import test_file_of
from coder.core.verdict import Verdict, VerdictKind


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
