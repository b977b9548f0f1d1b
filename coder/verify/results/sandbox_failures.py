"""Test failures that the sandbox causes, classified by the operating system's error."""

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from coder.core.verdict import DeniedResource, Failure, TestReport, TestResult
from coder.verify.results.comparison import join_test_ids
from coder.workspace.workspace import format_count

Denied = DeniedResource
NETWORK_ERRORS = frozenset(
    {"ECONNREFUSED", "ENETUNREACH", "EHOSTUNREACH", "ENETDOWN", "EADDRNOTAVAIL", "gaierror"}
)
NETWORK_MESSAGES = re.compile(
    "Connection refused|Network is unreachable|No route to host|Name or service not known"
    "|Temporary failure in name resolution"
)
"""The C library's words, for clients that raise no OSError, such as PostgreSQL's."""
PERMISSION_ERRORS = frozenset({"EACCES", "EPERM", "EROFS"})
REASONS: Mapping[Denied, str] = {
    "network": "no network or server is reachable",
    "files": "files outside of the worktree may not be used",
    "calls": "a system call is not permitted",
    "home": "files of your home directory are hidden",
}


def denied_resource(failure: Failure) -> Denied | None:
    """Return the resource whose lack in a sandbox explains a failure; None if none does."""
    error = failure.os_error
    if error is None:
        return "network" if NETWORK_MESSAGES.search(failure.message) else None
    if error.name in NETWORK_ERRORS:
        return "network"
    if error.name in PERMISSION_ERRORS and error.path.startswith("/"):
        return "files"
    if error.name == "EPERM" and not error.path:
        return "calls"
    is_hidden = error.name == "ENOENT" and error.path.startswith("~/") and _is_in_home(error.path)
    return "home" if is_hidden else None


def mark_sandbox_failures(
    results: Sequence[TestResult], denied: Collection[Denied]
) -> tuple[TestResult, ...]:
    """Return the results, those that fail for want of a denied resource marked with it."""
    return tuple(
        result.model_copy(update={"denied": resource})
        if result.red and result.failure and (resource := denied_resource(result.failure)) in denied
        else result
        for result in results
    )


def describe_sandbox_failures(
    before: TestReport, failures: Sequence[TestResult], remedies: Mapping[Denied, str]
) -> list[str]:
    """Return a clause for each resource without which tests fail both on the base and on the change.

    `failures` are those on the change; `remedies` names, for each resource that the sandbox denies, the
    switch that allows it.
    """
    affected: dict[Denied, list[TestResult]] = {}
    for result in failures:
        denied = denied_resource(result.failure) if result.failure else None
        earlier = before.result_for(result.id)
        if denied and earlier and earlier.failure and denied_resource(earlier.failure) == denied:
            affected.setdefault(denied, []).append(result)
    return [
        f"{format_count(len(results), 'test')} cannot pass in the sandbox, with or without the change, "
        f"because {REASONS[denied]} ({join_test_ids(results)}): {remedies[denied]}"
        for denied, results in affected.items()
        if denied in remedies
    ]


def _is_in_home(path: str) -> bool:
    """Tell whether a path of a test's home directory exists in the user's own."""
    try:
        return Path(path).expanduser().exists()
    except (OSError, RuntimeError, ValueError):
        return False
