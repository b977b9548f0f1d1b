"""Errors of an issue's own code that a change leaves as they were."""

import ast
import doctest
import json
import re
from collections.abc import Sequence
from pathlib import Path

from coder.core.paths import test_file_of
from coder.core.values import Value
from coder.files.regular_files import read_regular_text
from coder.python.source import parse_module
from coder.verify.review.issue_scripts import IssueScripts, code_in_issue
from coder.verify.review.tampering import parse_or_empty

MOST = 5
LEAST_MESSAGE = 6
"""Shorter messages may occur in any issue by chance."""
_INLINE = re.compile(r"(?<!`)`(?P<code>[^`\n]{3,200})`(?!`)")
_FENCE = re.compile(r"^[ \t]*```.*?^[ \t]*```", re.MULTILINE | re.DOTALL)
_EXPECTS_ERROR = re.compile(
    r"(?i)\b(?:should|must|ha(?:s|ve) to|ought to)\s+(?:also\s+|still\s+|then\s+|always\s+)?"
    r"(?:raise|throw|reject|refuse|fail)\b"
)
_ADDRESS = re.compile(r"0x[0-9a-f]+|/\S+")
_INCOMPLETE = frozenset(
    {"NameError", "ImportError", "ModuleNotFoundError", "SyntaxError", "IndentationError"}
)
"""Exceptions that show that the code needs more than the issue quotes."""


class RaisedError(Value):
    """The exception that ended a piece of code."""

    type: str
    message: str

    def is_reported_in(self, issue: str) -> bool:
        """Tell whether an issue names the message, or the type where the message is short."""
        if len(self.message) >= LEAST_MESSAGE and self.message in issue:
            return True
        return re.search(rf"\b{re.escape(self.type)}\b", issue) is not None


def find_persisting_errors(
    scripts: IssueScripts, old: Path, new: Path, issue: str, targets: Sequence[str]
) -> tuple[str, ...]:
    """Run the code that an issue quotes in both trees, with the imports of the target tests.

    Return, half a sentence each, for which of it the change leaves the exception that the issue reports.
    """
    if _EXPECTS_ERROR.search(issue):
        return ()
    files = dict.fromkeys(map(test_file_of, targets))
    tests = [read_regular_text(new / path) for path in files if path.endswith(".py")]
    imports = [statement for text in tests for statement in _import_statements(text)]
    modules = [module for statement in imports for module in _imported_modules(statement)]
    findings = []
    for code in quoted_code(issue) if tests else ():
        request = json.dumps({"imports": imports, "modules": modules, "code": code})
        before = _read_error(scripts.run_request(request, old))
        if before is None or before.type in _INCOMPLETE or not before.is_reported_in(issue):
            continue
        after = _read_error(scripts.run_request(request, new))
        if after is not None and _comparable(after) == _comparable(before):
            first_line = code.strip().partition("\n")[0]
            findings.append(f"`{first_line}` of the issue raises {after.type} as before: {after.message}")
    return tuple(findings)


def quoted_code(issue: str) -> tuple[str, ...]:
    """Return the code in an issue that can be run: expressions in backticks, fenced code, sessions."""
    inline = [match["code"].strip() for match in _INLINE.finditer(_FENCE.sub("", issue))]
    pieces = [code for code in inline if _is_evaluable(code)]
    for code in code_in_issue(issue):
        examples = doctest.DocTestParser().get_examples(code) if ">>>" in code else []
        pieces.append("".join(example.source for example in examples) or code)
    return tuple(dict.fromkeys(pieces))[:MOST]


def _is_evaluable(code: str) -> bool:
    """Tell whether this is a Python expression that calls something."""
    try:
        tree = parse_module(code)
    except (SyntaxError, ValueError, RecursionError):
        return False
    is_expression = len(tree.body) == 1 and isinstance(tree.body[0], ast.Expr)
    return is_expression and any(isinstance(node, ast.Call) for node in ast.walk(tree))


def _import_statements(text: str) -> list[str]:
    nodes = parse_or_empty(text).body
    return [ast.unparse(node) for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]


def _imported_modules(statement: str) -> list[str]:
    """Return the modules that a statement imports, and the packages around them."""
    names = []
    for node in parse_or_empty(statement).body:
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names += [node.module, node.module.partition(".")[0]]
        elif isinstance(node, ast.Import):
            names += [part for alias in node.names for part in (alias.name, alias.name.partition(".")[0])]
    return list(dict.fromkeys(names))


def _read_error(output: str) -> RaisedError | None:
    """Return the exception on the last line of output; None if there was none, or it cannot be told."""
    try:
        error = json.loads(output.strip().rpartition("\n")[2])
        return None if error is None else RaisedError(type=error["type"], message=error["message"])
    except (ValueError, TypeError, KeyError):
        return None


def _comparable(error: RaisedError) -> tuple[str, str]:
    """Return an exception without addresses and paths, which differ from run to run."""
    return error.type, _ADDRESS.sub("", error.message)
