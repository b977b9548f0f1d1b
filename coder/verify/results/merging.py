"""Merging of the reports of several runs."""

from coder.core.verdict import TestReport


def merge_reports(first: TestReport, second: TestReport) -> TestReport:
    """Return one report of two runs of the same tree; where both have a result, the second's counts."""
    results = {result.id: result for result in (*first.results, *second.results)}
    return first.model_copy(
        update={
            "command": first.command or second.command,
            "results": tuple(results.values()),
            "collected": tuple(dict.fromkeys((*first.collected, *second.collected))),
            "seconds": first.seconds + second.seconds,
            "problem": first.problem or second.problem,
            "output": second.output or first.output,
            "reached": tuple(dict.fromkeys((*first.reached, *second.reached))),
            "exit_code": second.exit_code,
        }
    )
