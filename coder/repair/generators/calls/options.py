"""Missing and superfluous options of well-known functions."""

import ast
from collections.abc import Iterator

from coder.core.ports import TextChange
from coder.repair.context.site import Rewrite, RewriteSite

OPTIONS: dict[str, tuple[str, ...]] = {
    "sorted": ("reverse=True", "key=str", "key=len", "key=str.lower", "key=int"),
    "sort": ("reverse=True", "key=len", "key=str.lower"),
    "popitem": ("last=False",),
    "move_to_end": ("last=False",),
    "enumerate": ("1", "start=1"),
    "pop": ("0", "-1", "None"),
    "split": ("None, 1", '","', '" "'),
    "splitlines": ("keepends=True",),
    "max": ("default=0", "default=None", "key=len"),
    "min": ("default=0", "default=None", "key=len"),
    "next": ("None",),
    "sum": ("[]", "0.0"),
    "round": ("2", "1"),
    "zip": ("strict=True",),
    "dumps": ("sort_keys=True", "ensure_ascii=False", "default=str"),
    "dump": ("sort_keys=True", "ensure_ascii=False"),
    "print": ('end=""', "file=sys.stderr", "flush=True"),
    "mkdir": ("parents=True", "exist_ok=True", "parents=True, exist_ok=True"),
    "makedirs": ("exist_ok=True",),
    "unlink": ("missing_ok=True",),
    "rmtree": ("ignore_errors=True",),
    "sub": ("count=1",),
    "replace": ("1",),
    "compile": ("re.IGNORECASE", "re.MULTILINE", "re.DOTALL"),
    "match": ("re.IGNORECASE",),
    "search": ("re.IGNORECASE", "re.MULTILINE"),
    "getattr": ("None",),
    "lru_cache": ("typed=True",),
    "urlparse": ("allow_fragments=False",),
    "parse_qs": ("keep_blank_values=True",),
    "parse_qsl": ("keep_blank_values=True",),
    "resolve": ("strict=True",),
    "from_bytes": ("signed=True",),
    "to_bytes": ("signed=True",),
}
MAX_POSITIONAL = {
    "split": 2,
    "replace": 3,
    "sub": 4,
    "next": 2,
    "sum": 2,
    "getattr": 3,
    "enumerate": 2,
    "round": 2,
    "pop": 2,
}
"""Number of arguments of functions whose option is positional: with so many there is none to add."""
SECOND_ARGUMENT = {"split": "1", "rsplit": "1"}
"""The option to add if there already is one argument."""


def option(site: RewriteSite) -> Iterator[Rewrite]:
    """Add an option: `sorted(x, reverse=True)` for `sorted(x)`, `enumerate(x, 1)` for `enumerate(x)`."""
    node = site.node
    if not isinstance(node, ast.Call) or any(isinstance(argument, ast.Starred) for argument in node.args):
        return
    name = (
        node.func.id
        if isinstance(node.func, ast.Name)
        else node.func.attr
        if isinstance(node.func, ast.Attribute)
        else ""
    )
    if name == "next" and len(node.args) == 1 and isinstance(node.args[0], ast.GeneratorExp):
        code = site.source.text_of(node.args[0])  # its parentheses are the call's
        yield from site.replace_expression(
            node, f"next({code}, None)", weight=0.6, summary="give `next` the default `None`"
        )
    if name not in OPTIONS or (len(node.args) == 1 and isinstance(node.args[0], ast.GeneratorExp)):
        return
    taken_names = {keyword.arg for keyword in node.keywords}
    arguments: list[ast.expr | ast.keyword] = [*node.args, *node.keywords]
    options = (SECOND_ARGUMENT[name],) if name in SECOND_ARGUMENT and len(node.args) == 1 else OPTIONS[name]
    match node.args:
        case [ast.Name(id=variable)] if name in ("max", "min", "sorted"):
            options = (*options, f"key={variable}.get")
        case _:
            pass
    if name == "pop" and arguments and isinstance(site.parent, ast.Expr):  # its result is not used
        options = ("None",)
    for text in options:
        keyword = text.partition("=")[0] if "=" in text else ""
        if keyword in taken_names or (
            not keyword and (taken_names or len(arguments) >= MAX_POSITIONAL.get(name, 9))
        ):
            continue
        position = site.source.span(arguments[-1])[1] if arguments else site.source.span(node)[1] - 1
        yield Rewrite(
            (TextChange(start=position, end=position, text=f", {text}" if arguments else text),),
            0.4,
            f"call `{name}` with `{text}`",
        )
