"""Examples in the text of an issue: code that it quotes, and what it says that calls give and should give."""

import ast
import doctest
import re
from collections.abc import Iterator
from contextlib import suppress
from textwrap import dedent

from coder.core.values import Value
from coder.python.source import parse_or_empty

_ADVERB = r"(?:(?:now|currently|always|still|wrongly|incorrectly|just|only)\s+)*"
_WORDS = r"(?:(?!(?:should|must|to|instead|but|and|or|not)\b)[\w'-]+,?\s+){0,5}?"
"""Words between a call and what is said of it, such as `on Windows` or `called twice`."""
_VERBS = (
    r"(?:returns?|returned|gives?|gave|yields?|yielded|prints?|printed|outputs?|produces?|produced|gets?|got)"
)
_GIVES = re.compile(
    rf"[`)]*\s*(?:(?:#+\s*)?{_WORDS}(?:{_VERBS}|is|was|evaluates? to|->|=>|→|==)\s+(?:(?:me|us)\s+)?{_ADVERB}"
    r"|#+\s*(?=[\d'\"\[({-]))"
)
_RAISES = re.compile(
    rf"[`)]*\s*{_WORDS}(?:raises?|throws?|fails with|crashes with|dies with|gives)\s+(?:an?\s+)?`?"
    r"(?P<type>\w*(?:Error|Exception))\b(?::[^\n`]{0,80}?(?=[,;.]\s|[`\n]|$))?`?"
)
_INSTEAD = re.compile(
    r"(?i)`*\s*(?:(?:for|on|in|with|under|since)\s+(?:[\w.'-]+\s+){1,3}?)?"
    r"(?:[,;(]?\s*(?:instead of|rather than|and not|not|where"
    r"(?: (?:I|we|you|one) (?:would )?(?:expect|want)(?:ed)?)?)"
    r"|[,;(.]?\s*(?:(?:but|and|while)\s+)?(?:(?:it|this|that|I|we)\s+)?"
    r"(?:(?:should|must|ought to)(?: have)? (?:be|been|return(?:ed)?|give|given|print(?:ed)?"
    r"|(?P<raise>raised?|throw|thrown))"
    r"|(?:would have |had )?expect(?:ed|s)?(?: is| was| to get| it to (?:be|return|give))?:?))\s+"
    r"(?P<raising>raising\s+)?(?:returning\s+|giving\s+)?(?:an?\s+(?=`?\w*(?:Error|Exception)\b))?"
)
_WANTED = re.compile(
    rf"[`)]*\s*{_WORDS}(?:should|must|ought to|has to|is expected to)\s+{_ADVERB}"
    r"(?:be|return|give|yield|print|output|produce|equal|evaluate to|(?P<raise>raise|throw))\s+(?:an?\s+)?"
)
_EXPECTS = re.compile(
    rf"(?i)[`)]*\s*(?:#+\s*)?[:,;-]?\s*{_WORDS}"
    r"(?:expect(?:ed|s)?(?: (?:result|output|value))?(?: (?:it )?to (?:be|return|give|yield|print|equal))?:?"
    r"|(?:to|should|must|ought to|has to) (?:be|return|give|yield|print|output|produce|equal|evaluate to"
    r"|(?P<raise>raise|throw))|==|:)\s+(?:an?\s+(?=`?\w*(?:Error|Exception)\b))?"
)
_GOT = re.compile(
    r"(?i)`?\s*[.,;(]?\s*(?:(?:but|and|while|though|whereas|instead)\s+)?(?:(?:I|we|it|this|that)\s+)?"
    rf"{_ADVERB}(?:actual(?: result| output| value)?\s*:|(?:actually\s+)?(?:{_VERBS}|is|was|raise[sd]?))"
    r"[:\s]+(?:an?\s+(?=`?\w*(?:Error|Exception)\b))?"
)
_EXPECTED = re.compile(r"(?i)(?:expected|should (?:be|give|return|print))(?: output| result)?:?\s+`?")
_SUBJECT = re.compile(r"(?i)\s*(?:(?:this|it|that|which|the above)\s+)?")
_NAME = re.compile(r"`?(?P<type>\w*(?:Error|Exception))\b")
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?(?![\w])", re.IGNORECASE)
_PROSE = re.compile(
    r"[ \t]+(?!(?:and|as|at|because|but|for|here|if|in|instead|like|not|on|or|rather|since|than|then|when"
    r"|where|which|while|with)\b)[A-Za-z]"
)
"""Prose behind a number that is a part of more, as in `3 February`."""
LONGEST_VALUE = 200
_CALLS_NOTHING = re.compile(r"^[\w.]*\(\)$")
"""A name with empty brackets, which is mentioned rather than shown."""
MOST = 5
_INLINE = re.compile(r"(?<!`)`(?P<code>[^`\n]{3,200})`(?!`)")

_CALL_BEGIN = re.compile(r"(?<![\w.])(?:[A-Za-z_][\w.]*\(|[\[{](?=[^\n]*\bfor\b))")
"""Matches the beginning of a call, or of a comprehension that may hold one."""
_CALL_END = re.compile(r"[])}]")
_ATTRIBUTES = re.compile(r"(?:\.[A-Za-z_]\w*)+(?![\w(])")
LONGEST_CALL = 200
_FENCE = re.compile(r"^[ \t]*```.*?^[ \t]*```", re.MULTILINE | re.DOTALL)


class ClaimedExample(Value):
    """A call of an issue with what it gives and what it should give."""

    call: str
    wrong: str = ""
    """As the issue writes it; `raises X` for an exception, empty if only the right result is named."""
    right: str = ""
    """As the issue writes it; `raises X` for an exception, empty if only an exception is unwanted."""
    setup: str = ""
    """Statements before the call."""
    is_wish: bool = False
    """True if it is of the form `X should return B`."""

    @property
    def code(self) -> str:
        return f"{self.setup}\n{self.call}" if self.setup else self.call


def find_runnable_code(issue: str) -> list[str]:
    """Return code that an issue shows as an example: calls with results, sessions and fenced code, calls."""
    claimed = [example.code for example in claimed_examples(issue)]
    quoted = sorted(quoted_code(issue), key=lambda code: "\n" not in code.strip())
    return [*dict.fromkeys((*claimed, *(code for code in quoted if not _CALLS_NOTHING.search(code))))]


def quoted_code(issue: str) -> tuple[str, ...]:
    """Return the code in an issue that can be run: expressions in backticks, calls in prose, fenced code,
    sessions.
    """
    issue = issue.replace("\r\n", "\n")
    text = _FENCE.sub("", issue)
    inline = [match["code"].strip() for match in _INLINE.finditer(text)]
    pieces = [code for code in inline if is_evaluable(code)]
    prose = _INLINE.sub("", _SESSION.sub("", text))
    pieces += [prose[start:end] for start, end in calls_in_prose(prose)]
    for code in code_in_issue(issue):
        with suppress(ValueError):  # a session that is not written as doctest requires
            examples = doctest.DocTestParser().get_examples(code) if ">>>" in code else []
            pieces.append("".join(example.source for example in examples) or code)
    return tuple(dict.fromkeys(pieces))[:MOST]


def calls_in_prose(text: str) -> Iterator[tuple[int, int]]:
    """Yield the places of Python calls in a text, with what is called on their results."""
    position = 0
    while begin := _CALL_BEGIN.search(text, position):
        position = begin.end()
        end = 0
        for close in _CALL_END.finditer(text, begin.end(), begin.start() + LONGEST_CALL):
            if end and text[end : end + 1] not in (".", "(", "["):
                break
            if is_evaluable(text[begin.start() : close.end()]):
                end = position = close.end()
        if end:
            attributes = _ATTRIBUTES.match(text, end)
            yield begin.start(), attributes.end() if attributes else end


def is_evaluable(code: str) -> bool:
    """Tell whether this is a Python expression that calls something."""
    tree = parse_or_empty(code)
    is_expression = len(tree.body) == 1 and isinstance(tree.body[0], ast.Expr)
    return is_expression and any(isinstance(node, ast.Call) for node in ast.walk(tree))


def claimed_examples(issue: str) -> Iterator[ClaimedExample]:
    """Yield the examples that an issue writes: `X returns A instead of B`, sessions, assertions."""
    for code in code_in_issue(issue):
        yield from _from_assertions(code)
        yield from _from_session(code, issue)
    for snippet in _FENCED.finditer(issue):
        rest = _SUBJECT.sub("", issue[snippet.end() :], count=1)
        match parse_or_empty(dedent(snippet["code"])).body:
            case [*setup, ast.Expr(value=ast.Call(func=ast.Name(id="print"), args=[shown], keywords=[]))]:
                call: ast.expr = shown
            case [*setup, ast.Expr(value=ast.Call() as call)]:
                pass
            case _:
                continue
        statements = "\n".join(map(ast.unparse, setup))
        yield from _from_text(ast.unparse(call), rest[: 3 * LONGEST_VALUE], statements)
    for start, end in calls_in_prose(issue):
        printed = re.fullmatch(r"print\((.*)\)", issue[start:end])
        text = printed[1] if printed and is_evaluable(printed[1]) else issue[start:end]
        yield from _from_text(text, issue[end : end + 3 * LONGEST_VALUE])


def _from_text(call: str, rest: str, setup: str = "") -> Iterator[ClaimedExample]:
    """Yield what the text behind a call says of its result, in the first form that fits."""
    for read_claim in (_read_raised, _read_instead, _read_expected, _read_wanted):
        if claim := read_claim(rest):
            wrong, right = claim
            is_wish = read_claim is _read_wanted
            yield ClaimedExample(call=call, wrong=wrong, right=right, setup=setup, is_wish=is_wish)
            return


def _read_raised(rest: str) -> tuple[str, str] | None:
    """Read `raises X`, with `instead of B` or without."""
    if not (raised := _RAISES.match(rest)):
        return None
    instead = _INSTEAD.match(rest, raised.end())
    is_error = instead and (instead["raising"] or instead["raise"])
    wrong = f"raises {raised['type']}"
    return wrong, _read_right(rest, instead.end(), wrong, is_error=bool(is_error)) if instead else ""


def _read_instead(rest: str) -> tuple[str, str] | None:
    """Read `gives A instead of B`."""
    gives = _GIVES.match(rest)
    wrong, position = _read_value(rest, gives.end()) if gives else ("", 0)
    instead = _INSTEAD.match(rest, position) if wrong else None
    if not instead:
        return None
    is_error = instead["raising"] or instead["raise"]
    right = _read_right(rest, instead.end(), wrong, is_error=bool(is_error))
    # A bare word behind `where` begins a clause: `'' where everyone expects ...`.
    is_clause = instead[0].strip().endswith("where") and parse_literal(right) is None
    return (wrong, right) if right and (is_error or not is_clause) else None


def _read_expected(rest: str) -> tuple[str, str] | None:
    """Read `expected B, got A`."""
    if not (expects := _EXPECTS.match(rest)):
        return None
    is_error = bool(expects["raise"])
    right, position = _read_value(rest, expects.end())
    got = _GOT.match(rest, position) if right else None
    if not got:
        return None
    raised = _NAME.match(rest, got.end())
    wrong = f"raises {raised['type']}" if raised else _read_value(rest, got.end())[0]
    right = _read_right(rest, expects.end(), wrong, is_error=is_error) if wrong else ""
    is_value = is_error or _is_value_at(rest, expects.end(), right)
    return (wrong, right) if is_value and (raised or _is_value_at(rest, got.end(), wrong)) else None


def _is_value_at(text: str, position: int, value: str) -> bool:
    """Tell whether what was read at a position is a value and no word of a sentence."""
    return bool(
        text[position : position + 1] == "`"
        or parse_literal(value) is not None
        or re.search(r"\d|\w\(", value)
    )


def _read_wanted(rest: str) -> tuple[str, str] | None:
    """Read `should give B`."""
    if not (wanted := _WANTED.match(rest)):
        return None
    right = _read_result(rest, wanted.end(), is_error=bool(wanted["raise"]))
    # Alone, a bare word may be prose: `total(x) should return the sum`.
    is_value = wanted["raise"] or rest[wanted.end()] == "`" or parse_literal(right) is not None
    return ("", right) if right and is_value else None


def _from_assertions(code: str) -> Iterator[ClaimedExample]:
    for statement in parse_or_empty(code).body:
        match statement:
            case ast.Assert(test=ast.Compare(left=ast.Call() as call, ops=[ast.Eq()], comparators=[right])):
                yield ClaimedExample(call=ast.unparse(call), right=ast.unparse(right))


def _from_session(code: str, issue: str) -> Iterator[ClaimedExample]:
    """Yield the last call of a session, if the text behind it says what was expected."""
    lines = [line.strip() for line in code.strip().splitlines()]
    places = [index for index, line in enumerate(lines) if line.startswith(">>> ")]
    if not places or places[-1] + 1 >= len(lines):
        return
    call, _, note = lines[places[-1]][4:].partition("  #")
    shown = lines[places[-1] + 1 :]
    try:
        setup = "".join(example.source for example in doctest.DocTestParser().get_examples(code)[:-1])
    except ValueError:  # not written as doctest requires
        return
    is_traceback = shown[0].startswith("Traceback")
    raised = _NAME.match(shown[-1]) if is_traceback else None
    value, _, remark = shown[0].partition("  #")
    wrong = f"raises {raised['type']}" if raised else value
    shown_again = re.search(r"\s*\n\s*".join(map(re.escape, lines[places[-1] :])), issue)
    behind = issue[shown_again.end() :] if shown_again else issue.rpartition(lines[-1])[2]
    behind = f"{note}\n{remark}\n{behind[:LONGEST_VALUE]}"
    expected = _EXPECTED.search(behind)
    right = _read_right(behind, expected.end(), wrong) if expected else ""
    is_named = expected is not None and expected[0].rstrip("` \n").endswith(":")
    right = right if is_named or (expected and _is_value_at(behind, expected.end(), right)) else ""
    if raised or right:
        yield ClaimedExample(call=call, wrong=wrong, right=right, setup=setup.rstrip())


def _read_result(text: str, position: int, *, is_error: bool) -> str:
    """Return what a text writes behind the words for what should be."""
    if is_error:
        found = _NAME.match(text, position)
        return f"raises {found['type']}" if found else ""
    value, end = _read_value(text, position)
    return "" if NUMBER.fullmatch(value) and _PROSE.match(text, end) else value


def _read_right(text: str, position: int, wrong: str, *, is_error: bool = False) -> str:
    """Return what a text writes for the right result; empty where a bare word is prose, or part of more.

    Whoever quotes the wrong text quotes the right one as well, unless it looks like no word.
    """
    right = _read_result(text, position, is_error=is_error)
    if is_error or text[position : position + 1] == "`" or parse_literal(right) is not None:
        return right
    is_whole = all(right.count(opening) == right.count(closing) for opening, closing in ("()", "[]", "{}"))
    is_prose = wrong[:1] in "'\"" and (right.isalpha() or " " in wrong)
    is_call = re.match(r"[A-Za-z_][\w.]*\(", wrong) or "(" in right
    is_other = is_call and right.partition("(")[0] != wrong.partition("(")[0]
    return right if is_whole and not is_prose and not is_other else ""


def _read_value(text: str, position: int) -> tuple[str, int]:
    """Return a value that a text writes at a position, and where it ends; empty if there is none."""
    rest = text[position : position + LONGEST_VALUE]
    if rest.startswith("`"):
        quoted = re.match(r"(`+)(.+?)\1", rest)
        return (quoted[2].strip(), position + quoted.end()) if quoted else ("", position)
    if number := NUMBER.match(rest):
        return number[0], position + number.end()
    if rest[:1] in ("'", '"', "[", "(", "{") or rest[:2] in ("b'", 'b"'):
        for end in range(2, len(rest) + 1):
            if rest[end - 1] in "'\"])}" and parse_literal(rest[:end]) is not None:
                return rest[:end], position + end
        return "", position
    if re.match(r"[A-Za-z_][\w.]*\(", rest):  # a call of a class, such as `datetime.date(2026, 1, 2)`
        for end in (found.end() for found in re.finditer(r"\)", rest)):
            if is_evaluable(rest[:end]):
                return rest[:end], position + end
    word = re.match(r"[^\s,;`)]+", rest)
    text_of_word = word[0].rstrip(".") if word else ""
    return text_of_word, position + len(text_of_word)


def parse_literal(text: str) -> ast.expr | None:
    """Return the expression of a Python literal; None if the text is none."""
    try:
        ast.literal_eval(text)
        return ast.parse(text, mode="eval").body
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None


_FENCED = re.compile(
    r"^[ \t]*```[ \t]*(?:python|py|pycon|python3)?[ \t]*\n(?P<code>.*?)^[ \t]*```", re.MULTILINE | re.DOTALL
)
_PROMPT, _ANSWER_PROMPT = re.compile(r"\bIn \[\d+\]: ?"), re.compile(r"\bOut\[\d+\]: ?")
_SESSION = re.compile(r"^[ \t]*>>> .*(?:\n[ \t]*\S.*)*", re.MULTILINE)


def code_in_issue(issue: str) -> tuple[str, ...]:
    """Return the code in an issue: fenced Python, and sessions of Python or IPython anywhere in it."""
    issue = _ANSWER_PROMPT.sub("", _PROMPT.sub(">>> ", issue.replace("\r\n", "\n")))
    candidates = [dedent(match["code"]) for match in _FENCED.finditer(issue)]
    candidates += [dedent(match[0]) for match in _SESSION.finditer(_FENCED.sub("", issue))]
    return tuple(dict.fromkeys(piece for piece in candidates if ">>>" in piece or _is_code(piece)))[:MOST]


def _is_code(text: str) -> bool:
    """Tell whether the text is Python that executes anything that can fail."""
    return any(isinstance(node, ast.Call | ast.Assert | ast.Raise) for node in ast.walk(parse_or_empty(text)))
