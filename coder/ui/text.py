"""Text from outside made safe for a terminal, and short."""

import re

_SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])")
_CONTROLS = {code: "�" for code in [*range(32), *range(127, 160), 0x2028, 0x2029] if chr(code) not in "\t\n"} | {ord("\r"): None}


def printable(text: str) -> str:
    """The text without escape sequences, and with a visible mark for every other control character than tab and newline."""
    return _SEQUENCE.sub("", text).translate(_CONTROLS)
