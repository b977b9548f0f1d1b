"""Wrong text formatting and I/O options: placeholders, precision, encodings, modes."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator, Set

from coder.core.ports import TextChange
from coder.repair.context.scope import local_names
from coder.repair.context.site import Rewrite, RewriteSite
from coder.repair.generators.text.strings import aligned_text, differing_texts

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
    start, end = site.source.span(node)
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
        case _:
            pass


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
        yield from site.replace_expression(
            argument, f'"{mode}"', weight=0.4, summary=f"open with mode {mode!r}"
        )
    if argument.value.lower() in (*ENCODINGS, "utf8"):
        for encoding in ENCODINGS:
            yield from site.replace_expression(
                argument, f'"{encoding}"', weight=0.35, summary=f"use the encoding {encoding}"
            )


def _add_option(site: RewriteSite, node: ast.Call, name: str) -> Iterator[Rewrite]:
    has_unicode_error = any(failure.type.startswith("Unicode") for failure in site.failures)
    taken_names = {keyword.arg for keyword in node.keywords}
    close = site.source.span(node)[1] - 1
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
        yield Rewrite(
            (TextChange(start=close, end=close, text=f"{comma}{text}"),),
            weight,
            f"call `{name}` with `{text}`",
        )


def _change_literal_parts(site: RewriteSite, node: ast.JoinedStr) -> Iterator[Rewrite]:
    """Replace literal parts of an f-string by what an assertion expected; change precisions."""
    start, end = site.source.span(node)
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
                    yield Rewrite(
                        (TextChange(start=position, end=position + len(part), text=new),),
                        0.7,
                        f"write {new!r} instead of {part!r}",
                    )


def _change_precision(start: int, code: str) -> Iterator[Rewrite]:
    for match in PRECISION.finditer(code):
        for digits in (int(match[1]) + 1, int(match[1]) - 1, 2, 1, 0, 3):
            if digits >= 0 and str(digits) != match[1]:
                change = TextChange(start=start + match.start(1), end=start + match.end(1), text=str(digits))
                yield Rewrite((change,), 0.35, f"format with {digits} digits")
