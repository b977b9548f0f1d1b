"""The public names of a module, with what a caller must know of each."""

import ast
from collections.abc import Iterator, Mapping

from coder.python.parsing import parsed


def surface_changes(old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    """What callers may notice, half a sentence each: public names that are gone, and signatures that are others; texts by path.

    Names added harm nobody, and neither do new parameters at the end that need not be given.
    """
    told = []
    for path in sorted(old):
        before, after = _surface(old[path]), _surface(new.get(path, ""))
        if before is None or after is None:
            continue
        for name, was in before.items():
            if name not in after:
                told.append(f"the public name `{name}` of {path} is gone")
            elif not _serves(was, after[name]):
                told.append(
                    f"`{name}` of {path} is called otherwise now: `({', '.join(after[name])})` for `({', '.join(was)})`"
                )
    return told


def _serves(was: tuple[str, ...], now: tuple[str, ...]) -> bool:
    """Does every call that fitted still fit?"""
    rest = [parameter for parameter in now if parameter not in was]
    return [parameter for parameter in now if parameter in was] == [*was] and all(
        "=" in word or word.startswith("*") for word in rest
    )


def _surface(text: str) -> dict[str, tuple[str, ...]] | None:
    """The parameters of each public function and method, nothing for other names; None where the text does not parse."""
    try:
        return dict(_public(parsed(text).body, ""))
    except (SyntaxError, ValueError, RecursionError):
        return None


def _public(body: list[ast.stmt], inside: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    for node in body:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) if (
                not name.startswith("_") or name == "__init__"
            ):
                yield inside + name, _parameters(node.args)
            case ast.ClassDef(name=name, body=methods) if not name.startswith("_"):
                yield inside + name, ()
                yield from _public(methods, f"{inside}{name}.")
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)) if (
                not name.startswith("_")
            ):
                yield inside + name, ()


def _parameters(arguments: ast.arguments) -> tuple[str, ...]:
    """Names in order; `=` for one that need not be given, stars as in the source, `*` before what must be named."""
    positional = [*arguments.posonlyargs, *arguments.args]
    needed = len(positional) - len(arguments.defaults)
    found = [f"{argument.arg}{'=' * (place >= needed)}" for place, argument in enumerate(positional)]
    found += [f"*{arguments.vararg.arg}"] if arguments.vararg else []
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        found.append(f"{argument.arg}, named{'=' * (default is not None)}")
    found += [f"**{arguments.kwarg.arg}"] if arguments.kwarg else []
    return tuple(found)
