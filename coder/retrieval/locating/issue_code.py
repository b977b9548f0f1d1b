"""What the names in an issue's code stand for: its imports under other names, and what it makes of its classes."""

import re
from collections.abc import Iterator, Mapping

from coder.workspace.places import dotted_names

IMPORTED = re.compile(
    r"^[ \t>.]*(?:In \[\d+\]: )?(?:from[ \t]+(?P<module>[.\w]{1,200})[ \t]+import[ \t]+(?P<names>\([^)]{0,2000}\)|[^\n]{1,2000})"
    r"|import[ \t]+(?P<modules>[\w., ]{1,400}))",
    re.MULTILINE,
)
MADE = re.compile(
    r"^[ \t>.]*(?:In \[\d+\]: )?(?P<name>[A-Za-z_]\w{0,99})[ \t]*=[ \t]*(?P<maker>[A-Za-z_][\w.]{0,199})\(",
    re.MULTILINE,
)
NAMED = re.compile(r"(?P<name>[\w.]+)(?:[ \t]+as[ \t]+(?P<alias>\w+))?(?:[ \t#;].*)?")


def imports(text: str) -> Iterator[tuple[str, str]]:
    """The dotted names that code imports, each with the name it has there; of all of a module, the module with no name."""
    for match in IMPORTED.finditer(text):
        for part in (match["names"] or match["modules"]).strip("() ").split(","):
            named = NAMED.fullmatch(part.strip())
            if part.strip() == "*":
                yield match["module"], ""
            elif named:
                dotted = f"{match['module']}.{named['name']}" if match["module"] else named["name"]
                yield dotted, named["alias"] or (named["name"] if match["module"] else "")


def meanings(text: str) -> dict[str, str]:
    """What is meant by each dotted name of a text: `np.linalg.norm` by its import, `box.get` by `box = Box()` above it."""
    bound = {alias: dotted for dotted, alias in imports(text) if alias}
    made = {
        match["name"]: match["maker"]
        for match in MADE.finditer(text)
        if match["maker"].rpartition(".")[2][:1].isupper()
    }
    bound = {name: _meant(maker, bound) for name, maker in made.items()} | bound
    return {name: _meant(name, bound) for name in dotted_names(text)}


def _meant(name: str, bound: Mapping[str, str]) -> str:
    first, dot, rest = name.partition(".")
    return f"{bound.get(first, first)}{dot}{rest}"
