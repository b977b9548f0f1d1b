"""Issues of a batch: a JSON object a line."""

import json
import re
from collections.abc import Iterable
from decimal import Decimal
from hashlib import sha256
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError, field_validator

from coder.core.text import explain_invalid_value, parse_json
from coder.core.values import Value

ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
RESERVED_IDS = ("running", "table.md", "costs.txt")
"""Names of a batch's folder that no issue may take."""
SLUG_CHARACTERS = 32


class BatchIssue(Value):
    """One line of a batch: an issue with its repository, and limits of its session."""

    id: str = ""
    """Name of the folder of its result; derived from the line where it is not given."""
    issue: str
    repo: str = ""
    """Path of the repository, relative to the file; empty: the current directory's."""
    base: str = "HEAD"
    """Revision to start from."""
    strategy: Literal["linear", "plan", "tree", "committee", "auto", "offline"] | None = None
    model: str | None = None
    test: str | None = None
    """The project's test command."""
    attempts: int | None = Field(default=None, ge=1)
    max_usd: Decimal | None = Field(default=None, gt=0)
    max_tokens: int | None = Field(default=None, gt=0)
    max_seconds: float | None = Field(default=None, gt=0)
    max_requests: int | None = Field(default=None, gt=0)

    @field_validator("issue")
    @classmethod
    def _require_text(cls, text: str) -> str:
        if not text.strip():
            raise ValueError("the issue is empty")
        return text.replace("\0", "")

    @field_validator("id")
    @classmethod
    def _require_name(cls, name: str) -> str:
        if name and (not ID.fullmatch(name) or name in RESERVED_IDS):
            raise ValueError("an id has letters, digits and . _ - alone, as it names a folder")
        return name

    @property
    def digest(self) -> str:
        """Digest of all fields, which tells whether a stored result is of the same line."""
        return sha256(self.model_dump_json().encode()).hexdigest()


class RejectedLine(Value):
    line: int
    reason: str


def parse_issues(lines: Iterable[str]) -> tuple[tuple[BatchIssue, ...], tuple[RejectedLine, ...]]:
    """Return the issues of a file, each with an id of its own, and the lines that are none."""
    issues: dict[str, BatchIssue] = {}
    numbers: dict[str, int] = {}
    rejected = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            issue = _parse_line(line)
        except ValueError as error:
            rejected.append(RejectedLine(line=number, reason=str(error)))
            continue
        if (first := numbers.setdefault(issue.id.casefold(), number)) != number:
            reason = f"its id {issue.id!r} is that of line {first}"
            rejected.append(RejectedLine(line=number, reason=reason))
        else:
            issues[issue.id] = issue
    return tuple(issues.values()), tuple(rejected)


def _parse_line(line: str) -> BatchIssue:
    """Parse one line."""
    try:
        content = parse_json(line)
        json.dumps(content, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise ValueError("it holds half of a surrogate pair: write that character whole") from None
    except (ValueError, RecursionError):
        raise ValueError("it is no JSON") from None
    if not isinstance(content, dict):
        raise ValueError("it is no JSON object")
    try:
        issue = BatchIssue.model_validate(content)
    except ValidationError as error:
        raise ValueError(_describe_errors(error)) from None
    return issue if issue.id else issue.model_copy(update={"id": _derive_id(issue)})


def _describe_errors(error: ValidationError) -> str:
    reasons = []
    for detail in error.errors():
        name = ".".join(map(str, detail["loc"]))
        match detail["type"]:
            case "extra_forbidden":
                reasons.append(f"unknown field {name!r} (there are {', '.join(BatchIssue.model_fields)})")
            case "missing":
                reasons.append(f"the field {name!r} is missing")
            case _:
                reasons.append(f"{name}: {explain_invalid_value(detail['msg'])}")
    return "; ".join(reasons)


def _derive_id(issue: BatchIssue) -> str:
    """Return an id that begins with the issue's first words and depends on the whole line."""
    words = re.sub(r"[^a-z0-9]+", "-", issue.issue.casefold()[: 2 * SLUG_CHARACTERS]).strip("-")
    return f"{words[:SLUG_CHARACTERS].rstrip('-') or 'issue'}-{issue.digest[:8]}"


def resolve_repository(issue: BatchIssue, beside: Path) -> Path:
    """Return the directory of an issue's repository; `beside` is the directory of the file of issues."""
    return beside / Path(issue.repo).expanduser() if issue.repo else Path()
