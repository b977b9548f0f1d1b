"""From text to sections."""

from plainconf.errors import Malformed
from plainconf.values import read_value


def load(path):
    with open(path, encoding="utf-8") as file:
        return parse(file.read())


def parse(text):
    """Sections by their names, each a dict; what stands before the first section is in the section ""."""
    sections = {"": {}}
    current = sections[""]
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if not line or line.startswith(("#", ";")):
            continue
        if line.startswith("[") and line.endswith("]"):
            current = sections.setdefault(line[1:-1].strip(), {})
            continue
        key, separator, value = line.rpartition("=")
        if not separator:
            raise Malformed(number, line)
        current[key.strip()] = read_value(value)
    return sections
