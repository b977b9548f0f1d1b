"""Changes of a module's public API: removed names and changed signatures."""

import ast
from collections.abc import Iterator, Mapping

from coder.python.source import parse_module


def api_changes(old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    """Describe removed public names and incompatible signatures, half a sentence each; texts by path.

    Added names are compatible, and so are new optional parameters at the end.
    """
    changes = []
    for path in sorted(old):
        before, after = _public_api(old[path]), _public_api(new.get(path, ""))
        if before is None or after is None:
            continue
        for name, parameters in before.items():
            if name not in after:
                changes.append(f"the public name `{name}` of {path} is gone")
            elif not _is_compatible(parameters, after[name]):
                changes.append(
                    f"`{name}` of {path} is called otherwise now: "
                    f"`({', '.join(after[name])})` for `({', '.join(parameters)})`"
                )
    return changes


def _is_compatible(before: tuple[str, ...], after: tuple[str, ...]) -> bool:
    """Tell whether every call that matched the old parameters matches the new ones."""
    added = [parameter for parameter in after if parameter not in before]
    return [parameter for parameter in after if parameter in before] == [*before] and all(
        "=" in word or word.startswith("*") for word in added
    )


def _public_api(text: str) -> dict[str, tuple[str, ...]] | None:
    """Return the parameters of each public function and method, empty for other names.

    None if the text does not parse.
    """
    try:
        return dict(_public_names(parse_module(text).body, ""))
    except (SyntaxError, ValueError, RecursionError):
        return None


def _public_names(body: list[ast.stmt], prefix: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    for node in body:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) if (
                not name.startswith("_") or name == "__init__"
            ):
                yield prefix + name, _parameters(node.args)
            case ast.ClassDef(name=name, body=methods) if not name.startswith("_"):
                yield prefix + name, ()
                yield from _public_names(methods, f"{prefix}{name}.")
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)) if (
                not name.startswith("_")
            ):
                yield prefix + name, ()


def _parameters(arguments: ast.arguments) -> tuple[str, ...]:
    """Return parameter names in order.

    `=` marks an optional one, stars are as in the source, and `, named` marks a keyword-only one.
    """
    positional = [*arguments.posonlyargs, *arguments.args]
    needed = len(positional) - len(arguments.defaults)
    parameters = [f"{argument.arg}{'=' * (place >= needed)}" for place, argument in enumerate(positional)]
    parameters += [f"*{arguments.vararg.arg}"] if arguments.vararg else []
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        parameters.append(f"{argument.arg}, named{'=' * (default is not None)}")
    parameters += [f"**{arguments.kwarg.arg}"] if arguments.kwarg else []
    return tuple(parameters)
