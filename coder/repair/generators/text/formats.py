"""Text that is put together or read and written the wrong way: placeholders, precision, encodings, modes."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator, Set

from coder.core.ports.repair import Change
from coder.repair.context.scope import local_names
from coder.repair.context.site import Rewrite, Site
from coder.repair.generators.text.strings import compared, counterpart

PERCENT = re.compile(r"%[-+ #0]*\d*(?:\.\d+)?[sdrfxgei]")
KINDS = ("s", "r", "d", "f", "x", "g")
PRECISION = re.compile(r"\.(\d)(?=[fge%])")
PLACEHOLDER = re.compile(r"\{(\w+)(?:\.\w+)*(?:![rsa])?(?::[^{}]*)?\}")
OPENERS = frozenset(
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
CODED = {"open": 'encoding="utf-8"', "read_text": 'encoding="utf-8"', "write_text": 'encoding="utf-8"'}
OTHER_HOUR = {"H": "I", "I": "H"}
ENCODINGS = ("utf-8", "latin-1", "ascii", "utf-8-sig")


def placeholder(site: Site) -> Iterator[Rewrite]:
    """Another conversion or precision, or the `f` before a text with a variable in braces."""
    node = site.node
    if isinstance(node, ast.JoinedStr):
        yield from _literal_parts(site, node)
        return
    if not (isinstance(node, ast.Constant) and isinstance(node.value, str)) or isinstance(
        site.parent, ast.Expr | ast.JoinedStr
    ):
        return
    start, end = site.source.span(node)
    code = site.source.text[start:end]
    formatted = isinstance(getattr(site.parent, "op", None), ast.Mod) or isinstance(
        site.parent, ast.Attribute
    )
    for match in PERCENT.finditer(code) if formatted else ():
        for kind in KINDS:
            if kind != match[0][-1]:
                change = Change(start=start + match.end() - 1, end=start + match.end(), text=kind)
                yield Rewrite((change,), 0.3, f"format with `%{kind}`")
    yield from _dates(site, start, code)
    yield from _precision(start, code)
    if formatted or "{" not in code:
        return
    known = {*local_names(site.source, node)}
    filled = [at for at, piece in pieces(code) if piece[0] in "'\"" and _can_be_filled(piece, known)]
    if filled:
        yield Rewrite(
            tuple(Change(start=start + at, end=start + at, text="f") for at in filled),
            0.8,
            "fill in the variables of a text",
        )


def _dates(site: Site, start: int, code: str) -> Iterator[Rewrite]:
    """The other case of a letter in the form of a date: `%m` is the month, `%M` the minute."""
    match site.parent:
        case ast.Call(func=ast.Attribute(attr="strftime" | "strptime")):
            for found in re.finditer(r"%-?([mMyYdDHIbBaApPjS])", code):
                other = OTHER_HOUR.get(found[1], found[1].swapcase())
                change = Change(start=start + found.start(1), end=start + found.end(1), text=other)
                yield Rewrite((change,), 0.5, f"`%{other}` instead of `%{found[1]}`")
        case _:
            pass


def _can_be_filled(piece: str, known: Set[str]) -> bool:
    """Does it hold variables in braces, all of them known, and no other braces?"""
    names = PLACEHOLDER.findall(piece)
    return bool(names) and known >= {*names} and not {*"{}"} & {*PLACEHOLDER.sub("", piece)}


def pieces(code: str) -> Iterator[tuple[int, str]]:
    """The literals that stand one after the other for one text, each with where it begins."""
    wrapped = f"({code})"
    starts = [0]
    for line in wrapped.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    for token in tokenize.generate_tokens(io.StringIO(wrapped).readline):
        if token.type == tokenize.STRING:
            yield starts[token.start[0] - 1] + token.start[1] - 1, token.string


def opening(site: Site) -> Iterator[Rewrite]:
    """Another mode of a file, an encoding given, another or none."""
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
    if name in OPENERS:
        for argument in (*node.args, *(keyword.value for keyword in node.keywords)):
            yield from _other_texts(site, argument)
        yield from _more_given(site, node, name)


def _other_texts(site: Site, given: ast.expr) -> Iterator[Rewrite]:
    if not (isinstance(given, ast.Constant) and isinstance(given.value, str)):
        return
    for mode in MODES.get(given.value, ()):
        yield from site.replace(given, f'"{mode}"', weight=0.4, summary=f"open with mode {mode!r}")
    if given.value.lower() in (*ENCODINGS, "utf8"):
        for encoding in ENCODINGS:
            yield from site.replace(
                given, f'"{encoding}"', weight=0.35, summary=f"use the encoding {encoding}"
            )


def _more_given(site: Site, node: ast.Call, name: str) -> Iterator[Rewrite]:
    told = any(failure.type.startswith("Unicode") for failure in site.failures)
    taken = {keyword.arg for keyword in node.keywords}
    close = site.source.span(node)[1] - 1
    comma = ", " if node.args or node.keywords else ""
    wanted = []
    if name in CODED and "encoding" not in taken:
        wanted.append((CODED[name], 0.9 if told else 0.2))
    if name == "open" and "newline" not in taken:
        wanted.append(('newline=""', 0.2))
    if name in ("encode", "decode") and len(node.args) <= 1 and not taken:
        wanted.append(('errors="replace"' if node.args else '"utf-8"', 0.6 if told else 0.15))
    if told and name in CODED and "errors" not in taken:
        given = "" if "encoding" in taken else f"{CODED[name]}, "
        wanted += [
            (f'{given}errors="{way}"', weight)
            for way, weight in (("replace", 0.6), ("ignore", 0.5), ("surrogateescape", 0.4))
        ]
    for text, weight in wanted:
        yield Rewrite((Change(start=close, end=close, text=f"{comma}{text}"),), weight, f"{name} with {text}")


def _literal_parts(site: Site, node: ast.JoinedStr) -> Iterator[Rewrite]:
    """The texts between the braces, where the assertion expected others, and the precision of numbers."""
    start, end = site.source.span(node)
    code = site.source.text[start:end]
    yield from _precision(start, code)
    for part in [
        value.value
        for value in node.values
        if isinstance(value, ast.Constant) and isinstance(value.value, str)
    ]:
        if code.count(part) != 1 or not part.strip():
            continue
        at = start + code.index(part)
        for seen, expected in compared(site.failures):
            for one, other in ((seen, expected), (expected, seen)):
                new = counterpart(part, one, other) if part in one else None
                if new and not set(new) & set("{}\\'\"\n") and new != part:
                    yield Rewrite(
                        (Change(start=at, end=at + len(part), text=new),),
                        0.7,
                        f"write {new!r} instead of {part!r}",
                    )


def _precision(start: int, code: str) -> Iterator[Rewrite]:
    for match in PRECISION.finditer(code):
        for digits in (int(match[1]) + 1, int(match[1]) - 1, 2, 1, 0, 3):
            if digits >= 0 and str(digits) != match[1]:
                change = Change(start=start + match.start(1), end=start + match.end(1), text=str(digits))
                yield Rewrite((change,), 0.35, f"show {digits} digits")
