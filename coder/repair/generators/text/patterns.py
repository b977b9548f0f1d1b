"""Regular expressions that take too much or too little: one piece of the pattern more often, less often, or another one."""

import ast
import re
import warnings
from collections.abc import Iterator
from functools import lru_cache

from coder.core.ports.repair import Change
from coder.python.parsing import expression
from coder.python.source import Source
from coder.repair.context.scope import module_names
from coder.repair.context.site import Rewrite, Site

USERS = frozenset({"compile", "match", "fullmatch", "search", "sub", "subn", "split", "findall", "finditer"})
RAW = re.compile(r"[rRbBfF]*[rR][rRbBfF]*['\"]")
FIELD = re.compile(r"(?<!\{)\{([^\W\d][\w.]*)\}(?!\})")
"""A name that a text is filled in with."""
FILLED = re.compile(r"\b[rRfF]*[fF][rRfF]*(?=['\"])")
SPECIAL = re.compile(r"[\\(\[+*?^$|]")
QUANTIFIED = re.compile(r"[\w)\].][+*?](?!\w)|[\])w]\{\d")
"""What few texts hold that are no part of a pattern."""
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
"""What stands in the literal, what may stand there instead, and how likely that is."""


def pattern(site: Site) -> Iterator[Rewrite]:
    """One piece of a regular expression as it may have been meant."""
    node = site.node
    literal = isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)
    )
    if not literal or not _is_pattern(site, node):
        return
    start, end = site.source.span(node)
    code = site.source.text[start:end]
    fields = [found.span() for found in FIELD.finditer(code)] if isinstance(node, ast.JoinedStr) else []
    grouped = FIELD.sub(r"(\1)", code) if fields else code
    for piece, others, weight in EDITS:
        for found in piece.finditer(grouped):
            if any(first < found.end() and found.start() < last for first, last in fields):
                continue
            for other in others:
                new = found.expand(other)
                plain = (
                    "\\" in new and RAW.match(code) is None
                )  # such a literal takes backslashes for something else
                prefix, new = (
                    ("r", new)
                    if plain and "\\" not in code
                    else ("", new.replace("\\", "\\\\") if plain else new)
                )
                if _compiles(prefix + grouped[: found.start()] + new + grouped[found.end() :]):
                    raw = (Change(start=start, end=start, text=prefix),) if prefix else ()
                    change = Change(start=start + found.start(), end=start + found.end(), text=new)
                    what = (
                        f"`{new}` instead of `{found[0]}` in a pattern"
                        if found[0]
                        else f"`{new}` in a pattern"
                    )
                    yield Rewrite((*raw, change), weight, what)


def _is_pattern(site: Site, node: ast.AST) -> bool:
    match site.parent:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="re" | "regex"), attr=name), args=[first, *_]) if (
            name in USERS
        ):
            return first is node
        case ast.Expr() | ast.JoinedStr() | ast.FormattedValue():
            return False
        case _:
            code = site.source.code(node)
            if RAW.match(code) is None:
                return imports_re(site.source) and QUANTIFIED.search(code) is not None and " " not in code
            return SPECIAL.search(code) is not None


@lru_cache(maxsize=256)
def imports_re(source: Source) -> bool:
    return bool({"re", "regex"} & {*module_names(source)})


def _compiles(code: str) -> bool:
    """Is it a literal of a pattern, filled in or not?"""
    plain = FILLED.sub(lambda found: found[0].translate({ord("f"): None, ord("F"): None}), code)
    try:
        with warnings.catch_warnings(action="ignore"):
            text = ast.literal_eval(expression(plain))
            if plain != code:
                expression(code)
                text = text.replace("{{", "{").replace("}}", "}")
            re.compile(text)
    except (SyntaxError, ValueError, re.error, RecursionError, OverflowError):
        return False
    return True
