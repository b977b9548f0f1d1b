"""From sections to text."""

from plainconf.values import write_value


def dump(sections):
    """The text of a settings file; empty sections are left out."""
    lines = []
    for name, values in sections.items():
        if not values:
            continue
        if name:
            lines.append(f"[{name}]")
        lines.extend(f"{key} = {write_value(value)}" for key, value in values.items())
        lines.append("")
    return "\n".join(lines)
