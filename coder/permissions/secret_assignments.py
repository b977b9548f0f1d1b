"""Assignments of literal secrets in any language: quoted, in configuration, command lines, and URLs."""

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
            rf"""(?i)(?P<header>\bauthorization)\\?["']?\s*[:=]\s*\\?["']?"""
            rf"""(?:(?:basic|bearer|token)\s+)?(?P<quoted>(?!))?{_BARE}"""
        ),
    ),
    (("bearer",), re.compile(rf"""(?i)\bbearer\s+(?P<quoted>(?!))?{_BARE}""")),
    (("</",), re.compile(rf"""(?i)<[\w.:-]*(?P<element>{_WORDS})>(?P<quoted>(?!))?{_BARE}(?=</)""")),
    (
        ("login", "curl"),
        re.compile(
            rf"""(?P<login>\blogin\s+\S+\s+password\s+|\bcurl\b[^\n]*\s(?:-u|--user)[ =]?["']?[\w.@-]+:)"""
            rf"""(?P<quoted>(?!))?{_BARE}"""
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
"""Patterns with the groups `quoted` and `bare`, one of which is the value.

Each has literals, one of which the lowered text must contain.
"""

_TEMPLATE = re.compile(r"[{}<>]|\$[\w({]|%[(\w%]|^\W+$|^[.x*]+$", re.I)
_CODE = re.compile(
    r"[A-Za-z_]\w*(?:(?:[.:=/|]|->)[A-Za-z_]?\w*)+|[A-Z][a-z]+(?:[A-Z][a-z0-9]*)+|[-+]?\d*\.?\d+"
)
_CODE_OR_KEBAB = re.compile(r"[A-Za-z_]+(?:[./:=-][A-Za-z_]\w*)+")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_DESCRIPTIVE_WORDS = frozenset(
    (  # noqa: SIM905 (a list would take a line a word)
        "password passwords passwd pwd pass passphrase secret secrets token tokens key keys api access "
        "refresh csrf csrfmiddlewaretoken xsrf auth id name field hash your here new old confirm reset "
        "example sample dummy placeholder redacted change changeme me insert enter the a of in none null nil "
        "undefined true false yes no required optional str string bytes int integer float bool boolean any "
        "object text number char varchar unknown never void symbol bearer basic type client private public "
        "session header masked hidden invalid missing empty username email foo bar baz file path env value "
        "default random generate generated self this"
    ).split()
)
"""Words that name a secret, its type or its absence, and are not secrets themselves."""
_NAME_SUFFIX = re.compile(
    r"(?i)s?(?:[_-]?(?:\d+|dev|prod|production|test|testing|staging|local|default"
    r"|value|old|new|live|main|root|admin))*"
)
_LINE_START = re.compile(
    r"[\s|\d>+*-]*(?:[\w./-]+[:-]\d+[:-]\s*)?(?:(?:export|set|ENV|ARG)\s+|-e\s+|\$\s+"
    r"|\w+:\s+(?=\S*$))?[\"']?[\w.-]*$"
)
_LISTING_PREFIX = re.compile(r"^\s*\d+\s?[-+ ]?\| ?|^[-+ ](?=\S)|^[\w./-]+[:-]\d+[:-]")
_REST_OF_LINE = re.compile(r"[ \t]*(?:\\[nr]|#[^\n]*|$|\n|[\"'](?![\w,]))")


def is_literal_secret(match: "re.Match[str]") -> bool:
    """Tell whether the value of this match is a secret itself, not code that fetches it or a placeholder."""
    groups = match.groupdict()
    value = groups["quoted"] or groups["bare"]
    if _TEMPLATE.search(value):
        return False
    if "url" in groups:
        return value.lower() not in ("password", "passwd", "pass", "pwd")
    if set(map(str.lower, _WORD.findall(value))) <= _DESCRIPTIVE_WORDS:
        return False
    if {"header", "element", "login"} & groups.keys():
        return len(value) >= 4
    if "keyword" not in groups:
        return _looks_random(value)
    if not _is_strong(match) or not _NAME_SUFFIX.fullmatch(groups["rest"]) or len(value) < 4:
        return _looks_random(value)
    return _is_quoted_secret(match) if groups["quoted"] else _is_bare_secret(match, value)


def _is_strong(match: "re.Match[str]") -> bool:
    """Tell whether the name alone marks its value as secret; a bare `token` may be a parser's."""
    before = match.string[max(0, match.start() - 60) : match.start()]
    prefix = re.search(r"[\w.-]*$", before)
    is_qualified = (
        bool(prefix and prefix[0].strip("-_.")) or before.endswith("--") or match["keyword"].isupper()
    )
    return match["keyword"].lower() not in ("token", "credential") or is_qualified


def _is_quoted_secret(match: "re.Match[str]") -> bool:
    value = match["quoted"]
    has_space = re.search(r"\s", value) is not None and match["keyword"].lower() != "passphrase"
    return (
        not has_space
        and not value.startswith(("/", "./", "../", "http://", "https://"))
        and sum(map(str.isalnum, value)) >= 3
    )


def _is_bare_secret(match: "re.Match[str]", value: str) -> bool:
    """Tell whether an unquoted value is literal: in an environment, configuration file, or command line."""
    text, separator = match.string, match["separator"]
    line_start = text.rfind("\n", 0, match.start()) + 1
    before, has_no_space = text[line_start : match.start()], separator.strip() == separator
    if _CODE.fullmatch(value) or value.startswith(("/", "./", "~/", "@", "&", "!", "*")):
        return _looks_random(value)
    next_character = text[match.end() : match.end() + 1]
    name = re.search(r"(?:--)?[\w.-]*$", before)
    full_name = f"{name[0] if name else ''}{match['keyword']}{match['rest']}"
    if (
        has_no_space
        and "=" in separator
        and next_character not in ("(", ")", "[", ",")
        and (full_name.isupper() or full_name.startswith("--"))
    ):
        return True
    if (
        has_no_space
        and "=" in separator
        and before[: len(before) - len(name[0] if name else "")].endswith((";", "&", "?"))
    ):
        return True
    if not _LINE_START.fullmatch(before) or not _REST_OF_LINE.match(text, match.end()):
        return _looks_random(value)
    if ":" in separator and "=" not in separator:
        return not has_no_space
    is_indented = _LISTING_PREFIX.sub("", before)[:1].isspace()
    return (
        not is_indented or not _IDENTIFIER.fullmatch(value) or (has_no_space and any(map(str.isdigit, value)))
    )


def _looks_random(value: str) -> bool:
    """Tell whether the value mixes letters and digits like a password or token, unlike a name."""
    letters, digits = sum(map(str.isalpha, value)), sum(map(str.isdigit, value))
    has_digits = digits >= 2 or (digits == 1 and len(value) >= 20)
    has_space = re.search(r"\s", value) is not None
    is_name = has_space or _CODE_OR_KEBAB.fullmatch(value) or value[0] in "/."
    return len(value) >= 8 and letters >= 3 and has_digits and not is_name and len(set(value)) >= 6
