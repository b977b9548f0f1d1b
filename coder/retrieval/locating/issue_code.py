"""Meaning of the names in an issue's code: aliases of imports, and instances of classes."""

import re
from collections.abc import Iterator, Mapping

from coder.workspace.places import extract_dotted_names

IMPORTED = re.compile(
    r"^[ \t>.]*(?:In \[\d+\]: )?(?:from[ \t]+(?P<module>[.\w]{1,200})[ \t]+import[ \t]+"
    r"(?P<names>\([^)]{0,2000}\)|[^\n]{1,2000})"
    r"|import[ \t]+(?P<modules>[\w., ]{1,400}))",
    re.MULTILINE,
)
ASSIGNED_CALL = re.compile(
    r"^[ \t>.]*(?:In \[\d+\]: )?(?P<name>[A-Za-z_]\w{0,99})[ \t]*=[ \t]*(?P<maker>[A-Za-z_][\w.]{0,199})\(",
    re.MULTILINE,
)
IMPORTED_NAME = re.compile(r"(?P<name>[\w.]+)(?:[ \t]+as[ \t]+(?P<alias>\w+))?(?:[ \t#;].*)?")


def parse_imports(text: str) -> Iterator[tuple[str, str]]:
    """Yield the dotted names that code imports, each with its local name.

    For `*` the module with an empty name.
    """
    for match in IMPORTED.finditer(text):
        for part in (match["names"] or match["modules"]).strip("() ").split(","):
            import_match = IMPORTED_NAME.fullmatch(part.strip())
            if part.strip() == "*":
                yield match["module"], ""
            elif import_match:
                dotted = (
                    f"{match['module']}.{import_match['name']}" if match["module"] else import_match["name"]
                )
                yield dotted, import_match["alias"] or (import_match["name"] if match["module"] else "")


def resolve_local_names(text: str) -> dict[str, str]:
    """Resolve dotted names of a text: `np.linalg.norm` by an import, `box.get` by `box = Box()` above it."""
    bound = {alias: dotted for dotted, alias in parse_imports(text) if alias}
    constructors = {
        match["name"]: match["maker"]
        for match in ASSIGNED_CALL.finditer(text)
        if match["maker"].rpartition(".")[2][:1].isupper()
    }
    bound = {name: _resolve_name(maker, bound) for name, maker in constructors.items()} | bound
    return {name: _resolve_name(name, bound) for name in extract_dotted_names(text)}


def _resolve_name(name: str, bound: Mapping[str, str]) -> str:
    first, dot, rest = name.partition(".")
    return f"{bound.get(first, first)}{dot}{rest}"
