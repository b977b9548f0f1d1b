"""Templates for text: string literals, formats, regular expressions."""

import ast
import io
import re
import tokenize
import warnings
from collections.abc import Iterator, Sequence, Set
from difflib import SequenceMatcher
from functools import lru_cache

from coder.core.ports import TextChange
from coder.core.verdict import Failure
from coder.python.source import PythonSource, parse_expression
from coder.repair.generators.site import Rewrite, RewriteSite, local_names, module_names, replace_span

# Wrong string literals, corrected from the expected and seen texts of assertions.

PYTEST_COMPARISON = re.compile(r"assert (['\"].*?['\"]) == (['\"].*?['\"])\s*$", re.MULTILINE)
UNITTEST_COMPARISON = re.compile(r"^(['\"].*?['\"]) != (['\"].*?['\"])\s*$", re.MULTILINE)
QUOTED = re.compile(r"'([^'\n]{1,60})'|\"([^\"\n]{1,60})\"")
LITERAL = re.compile(r"(?s)(\w*)('''|\"\"\"|'|\")(.*)\2")
FORMAT_PLACEHOLDER = re.compile(r"(\{[^{}]*\}|%(?:\(\w+\))?[-+#0 ]*\d*(?:\.\d+)?[a-zA-Z])")
"""Placeholder of a format string."""
LITERAL_GAP = re.compile(r"(?<=['\"])(\s+)(?=['\"])")
"""White space between two literals that Python concatenates."""
SEPARATORS = (",", ", ", " ", "\n", ".", "/", "-", "_", ":", ";", "=", "\t", "|")
MAX_TEXT_LENGTH = 60


def string(site: RewriteSite) -> Iterator[Rewrite]:
    """Replace a literal by its counterpart in the expected text, or by a similar quoted text."""
    node = site.node
    if not (isinstance(node, ast.Constant) and isinstance(node.value, str)) or isinstance(
        site.parent, ast.Expr | ast.JoinedStr
    ):
        return
    weights: dict[str, float] = {}
    for actual, expected in differing_texts(site.failures):
        for old_text, new_text in ((actual, expected), (expected, actual)):
            if (
                node.value
                and node.value in old_text
                and (text := aligned_text(node.value, old_text, new_text)) is not None
            ):
                weights[text] = 0.7
    for text in quoted_texts(site.failures):
        ratio = SequenceMatcher(None, node.value, text, autojunk=False).ratio()
        if ratio > 0.6:
            weights.setdefault(text, 0.6 * ratio)
    for text in (
        node.value.strip(),
        node.value.lower(),
        node.value.upper(),
        f"{node.value} ",
        f" {node.value}",
        f"{node.value}\n",
    ):
        weights.setdefault(text, 0.25)
    weights = _separators(site, node.value) | weights
    for text, weight in weights.items():
        if text != node.value and len(text) <= MAX_TEXT_LENGTH:
            yield from site.replace(
                node,
                string_literal(text, site.text_of(node)),
                weight=weight,
                summary=f"write {text!r} instead of {node.value!r}",
            )


def _separators(site: RewriteSite, value: str) -> dict[str, float]:
    """Return other separators with weights, those that the failures quote heavier."""
    quoted_text = "".join(quoted_texts(site.failures))
    separators = SEPARATORS if value in ("", *SEPARATORS) and _is_separator(site) else ()
    return {
        separator: (0.5 if separator in quoted_text else 0.35) * 0.97**rank
        for rank, separator in enumerate(separators)
    }


def _is_separator(site: RewriteSite) -> bool:
    """Tell whether the literal is the separator of a join or split."""
    match site.parent:
        case ast.Attribute(attr="join"):
            return True
        case ast.Call(
            func=ast.Attribute(attr="split" | "rsplit" | "partition" | "rpartition"), args=[separator, *_]
        ):
            return separator is site.node
    return False


def separated(site: RewriteSite) -> Iterator[Rewrite]:
    """Insert a missing comma between adjacent literals: `'b', 'c'` for `'b' 'c'`."""
    node = site.node
    is_element = isinstance(site.parent, ast.List | ast.Tuple | ast.Set | ast.Call)
    if not is_element or not isinstance(node, ast.Constant) or not isinstance(node.value, str):
        return
    start, _ = site.span(node)
    for match in LITERAL_GAP.finditer(site.text_of(node)):
        position = start + match.start(1)
        yield replace_span(position, position, ",", weight=0.6, summary="add a comma between two strings")


def filled(site: RewriteSite) -> Iterator[Rewrite]:
    """Correct the text between the placeholders of a format string."""
    node = site.node
    if not isinstance(node, ast.JoinedStr | ast.Constant) or isinstance(
        site.parent, ast.JoinedStr | ast.Expr
    ):
        return
    code = site.text_of(node)
    match = LITERAL.fullmatch(code)
    if match is None or "\\" in code or len(pieces := FORMAT_PLACEHOLDER.split(match[3])) == 1:
        return
    texts = pieces[::2]
    pairs = [
        pair
        for old_text, new_text in differing_texts(site.failures)
        for pair in ((old_text, new_text), (new_text, old_text))
    ]
    for old_text, new_text in pairs:
        for index, (text, start) in enumerate(zip(texts, _locate_texts(texts, old_text), strict=False)):
            replacement = aligned_text(text, old_text, new_text, start)
            if (
                replacement is not None
                and len(replacement) < len(text) + MAX_TEXT_LENGTH
                and not re.search(r"[{}\\\n'\"]", replacement)
            ):
                body = "".join([*pieces[: 2 * index], replacement, *pieces[2 * index + 1 :]])
                summary = f"write {replacement[-40:]!r} instead of {text[-40:]!r}"
                yield from site.replace(node, code.replace(match[3], body), weight=0.7, summary=summary)


def _locate_texts(texts: Sequence[str], actual: str) -> list[int]:
    """Return the offsets of consecutive texts in what was seen; empty if one is missing.

    The last text is located at the end if possible.
    """
    offsets: list[int] = []
    end = 0
    for number, text in enumerate(texts):
        last = len(actual) - len(text) if number == len(texts) - 1 and actual.endswith(text) else -1
        start = last if last >= end else actual.find(text, end)
        if start < 0:
            return []
        offsets.append(start)
        end = start + len(text)
    return offsets


def differing_texts(failures: tuple[Failure, ...]) -> Iterator[tuple[str, str]]:
    """Yield pairs of texts that an assertion found to differ."""
    for failure in failures:
        for pattern in (PYTEST_COMPARISON, UNITTEST_COMPARISON):
            for left, right in pattern.findall(failure.message):
                try:
                    values = ast.literal_eval(left), ast.literal_eval(right)
                except (SyntaxError, ValueError):
                    continue
                if all(isinstance(value, str) for value in values):
                    yield values


def quoted_texts(failures: tuple[Failure, ...]) -> frozenset[str]:
    """Return short texts that the messages quote."""
    return frozenset(
        single or double for failure in failures for single, double in QUOTED.findall(failure.message)
    )


def aligned_text(text: str, seen: str, expected: str, start: int | None = None) -> str | None:
    """Return the part of `expected` that is aligned with `text` in `seen`; None if it is equal.

    `text` is located at `start`, or at its first occurrence.
    """
    start = seen.find(text) if start is None else start
    end = start + len(text)
    pieces = []
    for tag, seen_from, seen_to, from_, to in SequenceMatcher(
        None, seen, expected, autojunk=False
    ).get_opcodes():
        if tag == "equal":
            pieces.append(
                expected[from_ + max(start - seen_from, 0) : from_ + max(min(end, seen_to) - seen_from, 0)]
            )
        elif (seen_from < end and seen_to > start) or (seen_from == seen_to and start <= seen_from <= end):
            pieces.append(expected[from_:to])
    result = "".join(pieces)
    return result if result != text else None


def string_literal(text: str, old: str) -> str:
    """Return a string literal in the quotes of the one it replaces."""
    representation = repr(text)
    if old.startswith('"') and representation.startswith("'") and '"' not in text:
        return f'"{representation[1:-1]}"'
    return representation


# Wrong text formatting and I/O options: placeholders, precision, encodings, modes.

PERCENT = re.compile(r"%[-+ #0]*\d*(?:\.\d+)?[sdrfxgei]")
CONVERSION_TYPES = ("s", "r", "d", "f", "x", "g")
PRECISION = re.compile(r"\.(\d)(?=[fge%])")
PLACEHOLDER = re.compile(r"\{(\w+)(?:\.\w+)*(?:![rsa])?(?::[^{}]*)?\}")
ENCODING_FUNCTIONS = frozenset(
    {"open", "read_text", "write_text", "decode", "encode", "fdopen", "TextIOWrapper", "NamedTemporaryFile"}
)
MODES = {
    "r": ("rb", "w"),
    "rb": ("r",),
    "w": ("a", "wb", "x"),
    "wb": ("w", "ab"),
    "a": ("w", "ab"),
    "ab": ("wb", "a"),
    "r+": ("w+", "a+"),
    "x": ("w",),
}
ENCODING_OPTIONS = {
    "open": 'encoding="utf-8"',
    "read_text": 'encoding="utf-8"',
    "write_text": 'encoding="utf-8"',
}
OTHER_HOUR = {"H": "I", "I": "H"}
ENCODINGS = ("utf-8", "latin-1", "ascii", "utf-8-sig")


def placeholder(site: RewriteSite) -> Iterator[Rewrite]:
    """Change a conversion or precision, or make a string with a variable in braces an f-string."""
    node = site.node
    if isinstance(node, ast.JoinedStr):
        yield from _change_literal_parts(site, node)
        return
    if not (isinstance(node, ast.Constant) and isinstance(node.value, str)) or isinstance(
        site.parent, ast.Expr | ast.JoinedStr
    ):
        return
    start, end = site.span(node)
    code = site.source.text[start:end]
    is_format = isinstance(getattr(site.parent, "op", None), ast.Mod) or isinstance(
        site.parent, ast.Attribute
    )
    for match in PERCENT.finditer(code) if is_format else ():
        for conversion in CONVERSION_TYPES:
            if conversion != match[0][-1]:
                change = TextChange(start=start + match.end() - 1, end=start + match.end(), text=conversion)
                yield Rewrite((change,), 0.3, f"format with `%{conversion}`")
    yield from _change_date_format(site, start, code)
    yield from _change_precision(start, code)
    if is_format or "{" not in code:
        return
    known_names = {*local_names(site.source, node)}
    offsets = [
        offset
        for offset, piece in adjacent_literals(code)
        if piece[0] in "'\"" and _can_be_filled(piece, known_names)
    ]
    if offsets:
        yield Rewrite(
            tuple(TextChange(start=start + offset, end=start + offset, text="f") for offset in offsets),
            0.8,
            "make the string an f-string",
        )


def _change_date_format(site: RewriteSite, start: int, code: str) -> Iterator[Rewrite]:
    """Swap the case of a letter in a date format: `%m` is the month, `%M` the minute."""
    match site.parent:
        case ast.Call(func=ast.Attribute(attr="strftime" | "strptime")):
            for match in re.finditer(r"%-?([mMyYdDHIbBaApPjS])", code):
                other = OTHER_HOUR.get(match[1], match[1].swapcase())
                change = TextChange(start=start + match.start(1), end=start + match.end(1), text=other)
                yield Rewrite((change,), 0.5, f"use `%{other}` instead of `%{match[1]}`")


def _can_be_filled(piece: str, known_names: Set[str]) -> bool:
    """Tell whether a literal holds known variables in braces and no other braces."""
    names = PLACEHOLDER.findall(piece)
    return bool(names) and known_names >= {*names} and not {*"{}"} & {*PLACEHOLDER.sub("", piece)}


def adjacent_literals(code: str) -> Iterator[tuple[int, str]]:
    """Yield the adjacent literals of a string, each with its offset."""
    parenthesized = f"({code})"
    starts = [0]
    for line in parenthesized.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    for token in tokenize.generate_tokens(io.StringIO(parenthesized).readline):
        if token.type == tokenize.STRING:
            yield starts[token.start[0] - 1] + token.start[1] - 1, token.string


def opening(site: RewriteSite) -> Iterator[Rewrite]:
    """Change a file mode, or add or change an encoding."""
    node = site.node
    if not isinstance(node, ast.Call):
        return
    name = (
        node.func.id
        if isinstance(node.func, ast.Name)
        else node.func.attr
        if isinstance(node.func, ast.Attribute)
        else ""
    )
    if name in ENCODING_FUNCTIONS:
        for argument in (*node.args, *(keyword.value for keyword in node.keywords)):
            yield from _change_mode_or_encoding(site, argument)
        yield from _add_option(site, node, name)


def _change_mode_or_encoding(site: RewriteSite, argument: ast.expr) -> Iterator[Rewrite]:
    if not (isinstance(argument, ast.Constant) and isinstance(argument.value, str)):
        return
    for mode in MODES.get(argument.value, ()):
        yield from site.replace(argument, f'"{mode}"', weight=0.4, summary=f"open with mode {mode!r}")
    if argument.value.lower() in (*ENCODINGS, "utf8"):
        for encoding in ENCODINGS:
            yield from site.replace(
                argument, f'"{encoding}"', weight=0.35, summary=f"use the encoding {encoding}"
            )


def _add_option(site: RewriteSite, node: ast.Call, name: str) -> Iterator[Rewrite]:
    has_unicode_error = any(failure.type.startswith("Unicode") for failure in site.failures)
    taken_names = {keyword.arg for keyword in node.keywords}
    close = site.span(node)[1] - 1
    comma = ", " if node.args or node.keywords else ""
    options = []
    if name in ENCODING_OPTIONS and "encoding" not in taken_names:
        options.append((ENCODING_OPTIONS[name], 0.9 if has_unicode_error else 0.2))
    if name == "open" and "newline" not in taken_names:
        options.append(('newline=""', 0.2))
    if name in ("encode", "decode") and len(node.args) <= 1 and not taken_names:
        options.append(('errors="replace"' if node.args else '"utf-8"', 0.6 if has_unicode_error else 0.15))
    if has_unicode_error and name in ENCODING_OPTIONS and "errors" not in taken_names:
        encoding = "" if "encoding" in taken_names else f"{ENCODING_OPTIONS[name]}, "
        options += [
            (f'{encoding}errors="{handler}"', weight)
            for handler, weight in (("replace", 0.6), ("ignore", 0.5), ("surrogateescape", 0.4))
        ]
    for text, weight in options:
        yield replace_span(
            close, close, f"{comma}{text}", weight=weight, summary=f"call `{name}` with `{text}`"
        )


def _change_literal_parts(site: RewriteSite, node: ast.JoinedStr) -> Iterator[Rewrite]:
    """Replace literal parts of an f-string by what an assertion expected; change precisions."""
    start, end = site.span(node)
    code = site.source.text[start:end]
    yield from _change_precision(start, code)
    for part in [
        value.value
        for value in node.values
        if isinstance(value, ast.Constant) and isinstance(value.value, str)
    ]:
        if code.count(part) != 1 or not part.strip():
            continue
        position = start + code.index(part)
        for actual, expected in differing_texts(site.failures):
            for old_text, new_text in ((actual, expected), (expected, actual)):
                new = aligned_text(part, old_text, new_text) if part in old_text else None
                if new and not set(new) & set("{}\\'\"\n") and new != part:
                    yield replace_span(
                        position,
                        position + len(part),
                        new,
                        weight=0.7,
                        summary=f"write {new!r} instead of {part!r}",
                    )


def _change_precision(start: int, code: str) -> Iterator[Rewrite]:
    for match in PRECISION.finditer(code):
        for digits in (int(match[1]) + 1, int(match[1]) - 1, 2, 1, 0, 3):
            if digits >= 0 and str(digits) != match[1]:
                change = TextChange(start=start + match.start(1), end=start + match.end(1), text=str(digits))
                yield Rewrite((change,), 0.35, f"format with {digits} digits")


# Regular expressions that match too much or too little.

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
    start, end = site.span(node)
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
            code = site.text_of(node)
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
