"""Access of changed JavaScript and TypeScript to the test process, and detection of test runs."""

import re
from collections.abc import Iterator, Mapping

SUFFIXES = (".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx")
_COMMENT = re.compile(r"^\s*(?://|\*|/\*)")
_IMPORTING = r"""(?:from|require\(|import\(|import)\s*["'`](?:node:)?"""
OF_SOURCES: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), what)
    for pattern, what in (
        (
            _IMPORTING + r"(?:test|assert|inspector|trace_events|v8|vm|module|diagnostics_channel|repl)\b",
            "imports {}, which test runners stand on",
        ),
        (_IMPORTING + r"(?:vitest|jest|@jest/\w+|mocha|chai|ava|tape|sinon|expect)\b", "imports {}"),
        (
            r"\bprocess\.(?:exit|abort|kill|reallyExit|binding|_\w+|on|once|emit|exitCode|disconnect|send"
            r"|channel|connected|ppid)\b",
            "uses {}",
        ),
        (r"\bprocess\.(?:argv|execArgv|title|mainModule|report|features|constrainedMemory)\b", "asks for {}"),
        (
            r"\bprocess\.(?:stdout|stderr)\.(?:write\s*=|isTTY|fd|_\w+)|\bconsole\.\w+\s*=[^=]",
            "changes or looks at the output of the process ({})",
        ),
        (
            r"\bprocess\s*\[|\bglobalThis\s*\[|\bglobal\s*\[|\bReflect\.\w+\(\s*(?:process|globalThis)",
            "looks into {} by a name that cannot be read here",
        ),
        (
            r"\bnew Error\(\w*\)\.stack|\bcaptureStackTrace\b|\bprepareStackTrace\b|\barguments\.callee\b",
            "looks at its callers ({})",
        ),
        (
            r"\b[A-Z]\w*\.prototype\.\w+\s*=[^=]"
            r"|\bObject\.defineProper(?:ty|ties)\(\s*(?:[A-Z]\w*\.prototype|process|globalThis|assert)",
            "replaces {}",
        ),
        (
            r"\bassert(?:\.\w+)?\s*=[^=]|\bmock\.method\b|\bregisterHooks\b"
            r"|\bsetUncaughtExceptionCaptureCallback\b",
            "replaces what tests call ({})",
        ),
        (r"\b__(?:vitest|jest|mocha)_?\w*", "names {}"),
        (r"\beval\s*\(|\bnew Function\s*\(", "executes code that cannot be read here ({})"),
    )
)
_VARIABLE = re.compile(
    r"\bprocess\.env(?:\.(?P<dotted>\w+)|\[\s*[\"'`](?P<quoted>\w+)[\"'`]\s*\]|(?P<whole>\b(?![.\[])|\[))"
)


def harness_accesses_js(old: Mapping[str, str], new: Mapping[str, str], *, known: str = "") -> list[str]:
    """Return new accesses of the changed sources (texts by path) to the test process, half a sentence each.

    Detection is by regular expressions, line by line: deliberately obscured code is not found. Environment
    variables whose names are in `known` (the issue, the base's code, unchanged tests) are allowed.
    """
    accesses: list[str] = []
    for path, text in new.items():
        before = {what for _, what in _accesses(old.get(path, ""), known)}
        accesses += [f"{path}:{line} {what}" for line, what in _accesses(text, known) if what not in before]
    return list(dict.fromkeys(accesses))


def _accesses(text: str, known: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.splitlines(), 1):
        if _COMMENT.match(line):
            continue
        for pattern, what in OF_SOURCES:
            if match := pattern.search(line):
                yield number, what.format(re.sub(r"\s+", " ", match[0].strip(" =(")))
        for variable in _VARIABLE.finditer(line):
            name = variable["dotted"] or variable["quoted"] or ""
            if not name or name not in known:
                yield number, f"asks for the environment variable {name or 'whose name cannot be read here'}"
