"""Assignments of literal secrets in text of any language: quoted, in configuration files, on command lines, in URLs."""

import re

_QUOTED = r"""(?P<quote>\\?["'`])(?P<quoted>(?:(?!(?P=quote))[^\n\\]){2,200})(?P=quote)"""
_BARE = r"""(?P<bare>[^\s"'`,;<>(){}\[\]\\]{2,200})"""
_WORDS = r"passw(?:or)?d|pwd|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credential"
ASSIGNMENT = re.compile(
    rf"""(?ix) (?P<keyword>{_WORDS})(?P<rest>[\w-]*) \\?["']?\]?
    (?:[ \t]*:[ \t]*[a-z_][\w.|\[\] ]*?(?=[ \t]*=[^=]))?
    (?P<separator>[ \t]*(?:=>|:=|=(?!=)|:(?!:))[ \t]*) (?:[rbu]{{0,2}}{_QUOTED}|{_BARE})"""
)
CONTEXTS: tuple[tuple[tuple[str, ...], re.Pattern[str]], ...] = (
    (
        ("://",),
        re.compile(
            r"""(?i)://[^\s/:@"']*:(?P<url>)(?P<quoted>(?!))?(?P<bare>[^\s"'<>{}/@\[\]\\]{2,200})(?=@)"""
        ),
    ),
    (
        ("authorization",),
        re.compile(
            rf"""(?i)(?P<header>\bauthorization)\\?["']?\s*[:=]\s*\\?["']?(?:(?:basic|bearer|token)\s+)?(?P<quoted>(?!))?{_BARE}"""
        ),
    ),
    (("bearer",), re.compile(rf"""(?i)\bbearer\s+(?P<quoted>(?!))?{_BARE}""")),
    (("</",), re.compile(rf"""(?i)<[\w.:-]*(?P<element>{_WORDS})>(?P<quoted>(?!))?{_BARE}(?=</)""")),
    (
        ("login", "curl"),
        re.compile(
            rf"""(?P<login>\blogin\s+\S+\s+password\s+|\bcurl\b[^\n]*\s(?:-u|--user)[ =]?["']?[\w.@-]+:)(?P<quoted>(?!))?{_BARE}"""
        ),
    ),
    (
        (
            "passw",
            "pwd",
            "passphrase",
            "secret",
            "token",
            "credential",
            *(f"{word}{gap}key" for word in ("api", "access", "private") for gap in ("", "_", "-")),
        ),
        ASSIGNMENT,
    ),
)
"""Patterns with the groups `quoted` and `bare`, one of which is the value; before each, literals one of which lowered text must hold."""

_TEMPLATE = re.compile(r"[{}<>]|\$[\w({]|%[(\w%]|^\W+$|^[.x*]+$", re.I)
_CODE = re.compile(
    r"[A-Za-z_]\w*(?:(?:[.:=/|]|->)[A-Za-z_]?\w*)+|[A-Z][a-z]+(?:[A-Z][a-z0-9]*)+|[-+]?\d*\.?\d+"
)
_CODE_OR_KEBAB = re.compile(r"[A-Za-z_]+(?:[./:=-][A-Za-z_]\w*)+")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_SPEAKING = frozenset(
    (  # noqa: SIM905 (a list would take a line a word)
        "password passwords passwd pwd pass passphrase secret secrets token tokens key keys api access refresh csrf "
        "csrfmiddlewaretoken xsrf auth id name field hash your here new old confirm reset example sample dummy "
        "placeholder redacted change changeme me insert enter the a of in none null nil undefined true false yes no "
        "required optional str string bytes int integer float bool boolean any object text number char varchar unknown "
        "never void symbol bearer basic type client private public session header masked hidden invalid missing empty "
        "username email foo bar baz file path env value default random generate generated self this"
    ).split()
)
"""Words that name a secret, its type or its absence, and are none themselves."""
_LAST = re.compile(
    r"(?i)s?(?:[_-]?(?:\d+|dev|prod|production|test|testing|staging|local|default|value|old|new|live|main|root|admin))*"
)
_LINE_START = re.compile(
    r"[\s|\d>+*-]*(?:[\w./-]+[:-]\d+[:-]\s*)?(?:(?:export|set|ENV|ARG)\s+|-e\s+|\$\s+|\w+:\s+(?=\S*$))?[\"']?[\w.-]*$"
)
_MARGIN = re.compile(r"^\s*\d+\s?[-+ ]?\| ?|^[-+ ](?=\S)|^[\w./-]+[:-]\d+[:-]")
_REST_OF_LINE = re.compile(r"[ \t]*(?:\\[nr]|#[^\n]*|$|\n|[\"'](?![\w,]))")


def is_literal_secret(found: "re.Match[str]") -> bool:
    """Is the value of this match a secret itself, and neither code that fetches one nor a word that stands for one?"""
    groups = found.groupdict()
    value = groups["quoted"] or groups["bare"]
    if _TEMPLATE.search(value):
        return False
    if "url" in groups:
        return value.lower() not in ("password", "passwd", "pass", "pwd")
    if set(map(str.lower, _WORD.findall(value))) <= _SPEAKING:
        return False
    if {"header", "element", "login"} & groups.keys():
        return len(value) >= 4
    if "keyword" not in groups:
        return _looks_drawn(value)
    if not _is_strong(found) or not _LAST.fullmatch(groups["rest"]) or len(value) < 4:
        return _looks_drawn(value)
    return _is_quoted_secret(found) if groups["quoted"] else _is_bare_secret(found, value)


def _is_strong(found: "re.Match[str]") -> bool:
    """Does the name alone say that its value is secret? A bare `token` may be a parser's."""
    before = found.string[max(0, found.start() - 60) : found.start()]
    prefix = re.search(r"[\w.-]*$", before)
    qualified = bool(prefix and prefix[0].strip("-_.")) or before.endswith("--") or found["keyword"].isupper()
    return found["keyword"].lower() not in ("token", "credential") or qualified


def _is_quoted_secret(found: "re.Match[str]") -> bool:
    value = found["quoted"]
    spaced = re.search(r"\s", value) is not None and found["keyword"].lower() != "passphrase"
    return (
        not spaced
        and not value.startswith(("/", "./", "../", "http://", "https://"))
        and sum(map(str.isalnum, value)) >= 3
    )


def _is_bare_secret(found: "re.Match[str]", value: str) -> bool:
    """Unquoted, a value is literal where no program could mean a name: in an environment, a configuration file, a command line."""
    text, separator = found.string, found["separator"]
    line_start = text.rfind("\n", 0, found.start()) + 1
    before, tight = text[line_start : found.start()], separator.strip() == separator
    if _CODE.fullmatch(value) or value.startswith(("/", "./", "~/", "@", "&", "!", "*")):
        return _looks_drawn(value)
    following = text[found.end() : found.end() + 1]
    name = re.search(r"(?:--)?[\w.-]*$", before)
    written = f"{name[0] if name else ''}{found['keyword']}{found['rest']}"
    if (
        tight
        and "=" in separator
        and following not in ("(", ")", "[", ",")
        and (written.isupper() or written.startswith("--"))
    ):
        return True
    if (
        tight
        and "=" in separator
        and before[: len(before) - len(name[0] if name else "")].endswith((";", "&", "?"))
    ):
        return True
    if not _LINE_START.fullmatch(before) or not _REST_OF_LINE.match(text, found.end()):
        return _looks_drawn(value)
    if ":" in separator and "=" not in separator:
        return not tight
    indented = _MARGIN.sub("", before)[:1].isspace()
    return not indented or not _IDENTIFIER.fullmatch(value) or (tight and any(map(str.isdigit, value)))


def _looks_drawn(value: str) -> bool:
    """Has it letters and digits as a password or token has, and as no name has?"""
    letters, digits = sum(map(str.isalpha, value)), sum(map(str.isdigit, value))
    enough = digits >= 2 or (digits == 1 and len(value) >= 20)
    spaced = re.search(r"\s", value) is not None
    named = spaced or _CODE_OR_KEBAB.fullmatch(value) or value[0] in "/."
    return len(value) >= 8 and letters >= 3 and enough and not named and len(set(value)) >= 6
