"""Values as they are written."""

WORDS = {"yes": True, "no": False, "true": True, "false": False, "none": None}


def read_value(text):
    """A number, a truth value, a list in square brackets, or text."""
    text = text.strip()
    if text.lower() in WORDS:
        return WORDS[text.lower()]
    if text.startswith("[") and text.endswith("]"):
        return [read_value(part) for part in text[1:-1].split(",") if part.strip()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def write_value(value):
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return f"[{', '.join(write_value(item) for item in value)}]"
    return str(value)
