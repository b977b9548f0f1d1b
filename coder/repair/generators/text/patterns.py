"""Regular expressions that match too much or too little."""

import ast
import re
import warnings
from collections.abc import Iterator
from functools import lru_cache

from coder.core.ports import TextChange
from coder.python.source import PythonSource, parse_expression
from coder.repair.context.scope import module_names
from coder.repair.context.site import Rewrite, RewriteSite

PATTERN_FUNCTIONS = frozenset(
    {"compile", "match", "fullmatch", "search", "sub", "subn", "split", "findall", "finditer"}
)
RAW_PREFIX = re.compile(r"[rRbBfF]*[rR][rRbBfF]*['\"]")
FIELD = re.compile(r"(?<!\{)\{([^\W\d][\w.]*)\}(?!\})")
"""A replacement field with a name."""
FORMAT_PREFIX = re.compile(r"\b[rRfF]*[fF][rRfF]*(?=['\"])")
SPECIAL_CHARACTERS = re.compile(r"[\\(\[+*?^$|]")
QUANTIFIER = re.compile(r"[\w)\].][+*?](?!\w)|[\])w]\{\d")
"""Quantifiers that few strings contain unless they are patterns."""
EDITS: tuple[tuple[re.Pattern[str], tuple[str, ...], float], ...] = (
    (re.compile(r"(?<=[\w)\].])\+(?!\?)"), ("*", "+?", ""), 0.35),
    (re.compile(r"(?<=[\w)\].])\*(?!\?)"), ("+", "*?", ""), 0.35),
    (re.compile(r"(?<=[\w)\].:,/ -])\?(?![:=!<P])"), ("",), 0.3),
    (re.compile(r"(?<=[)\]])(?![?*+{])"), ("?",), 0.35),
    (re.compile(r"(?<=[:,/ -])(?<!\?:)(?![?*+{\]])"), ("?",), 0.35),
    (re.compile(r"\{(\d)\}"), (r"{1,\1}", r"{\1,}", "+"), 0.35),
    (re.compile(r"(?<!\\)\.(?![*+?])"), (r"\\.",), 0.35),
    (re.compile(r"\\\."), (".",), 0.2),
    (re.compile(r"(?<!\[)\^"), ("",), 0.25),
    (re.compile(r"\$"), (r"\\Z", ""), 0.25),
    (re.compile(r"(?<=['\"])(?=[\w(\[\\])"), ("^", r"\\b"), 0.2),
    (re.compile(r"(?<=[\w)\]+*?])(?=['\"]$)"), ("$", r"\\b"), 0.25),
    (re.compile(r"(?<![A-Z])a-z(?!A-Z)|(?<!a-z)A-Z(?!a-z)"), ("a-zA-Z",), 0.35),
    (re.compile(r"(?<=[\w*+-])(?=\])"), ("_", ".", "-"), 0.25),
    (re.compile(r"\\d"), (r"\\w",), 0.2),
    (re.compile(r"\\w"), (r"\\S", r"[\\w-]"), 0.25),
)
"""Part of the literal to match, its possible replacements, and their weight."""


def pattern(site: RewriteSite) -> Iterator[Rewrite]:
    """Change one part of a regular expression."""
    node = site.node
    is_literal = isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)
    )
    if not is_literal or not _is_pattern(site, node):
        return
    start, end = site.source.span(node)
    code = site.source.text[start:end]
    fields = [match.span() for match in FIELD.finditer(code)] if isinstance(node, ast.JoinedStr) else []
    grouped = FIELD.sub(r"(\1)", code) if fields else code
    for piece, others, weight in EDITS:
        for match in piece.finditer(grouped):
            if any(first < match.end() and match.start() < last for first, last in fields):
                continue
            for other in others:
                new = match.expand(other)
                needs_raw = (
                    "\\" in new and RAW_PREFIX.match(code) is None
                )  # a literal that is not raw would interpret the backslashes
                prefix, new = (
                    ("r", new)
                    if needs_raw and "\\" not in code
                    else ("", new.replace("\\", "\\\\") if needs_raw else new)
                )
                if _compiles(prefix + grouped[: match.start()] + new + grouped[match.end() :]):
                    raw = (TextChange(start=start, end=start, text=prefix),) if prefix else ()
                    change = TextChange(start=start + match.start(), end=start + match.end(), text=new)
                    summary = (
                        f"use `{new}` instead of `{match[0]}` in a pattern"
                        if match[0]
                        else f"add `{new}` to a pattern"
                    )
                    yield Rewrite((*raw, change), weight, summary)


def _is_pattern(site: RewriteSite, node: ast.AST) -> bool:
    match site.parent:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="re" | "regex"), attr=name), args=[first, *_]) if (
            name in PATTERN_FUNCTIONS
        ):
            return first is node
        case ast.Expr() | ast.JoinedStr() | ast.FormattedValue():
            return False
        case _:
            code = site.source.text_of(node)
            if RAW_PREFIX.match(code) is None:
                return has_re_import(site.source) and QUANTIFIER.search(code) is not None and " " not in code
            return SPECIAL_CHARACTERS.search(code) is not None


@lru_cache(maxsize=256)
def has_re_import(source: PythonSource) -> bool:
    """Tell whether the file imports `re` or `regex`."""
    return bool({"re", "regex"} & {*module_names(source)})


def _compiles(code: str) -> bool:
    """Tell whether a literal, formatted or not, is a valid pattern."""
    plain = FORMAT_PREFIX.sub(lambda match: match[0].translate({ord("f"): None, ord("F"): None}), code)
    try:
        with warnings.catch_warnings(action="ignore"):
            text = ast.literal_eval(parse_expression(plain))
            if plain != code:
                parse_expression(code)
                text = text.replace("{{", "{").replace("}}", "}")
            re.compile(text)
    except (SyntaxError, ValueError, re.error, RecursionError, OverflowError):
        return False
    return True
