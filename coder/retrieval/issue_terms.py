"""Extraction of search terms from an issue: words that its code is likely to contain."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from coder.files.tokenize import STOP_WORDS, WORD, identifier_parts, identifier_terms, stem_word

COMMENT = re.compile(r"<!--.{0,4000}?-->", re.DOTALL)
HEADING = re.compile(r"^[ \t]*(?:#+ .*|\*\*[^*\n]+\*\*:?|[A-Z][^\n]{2,40}\n[-=]{4,})[ \t]*$", re.MULTILINE)
ENVIRONMENT_HEADING = re.compile(
    r"environment|system (?:details|info)|versions?\b|platform|installed|\bOS\b"
    r"|your setup|show_versions|pip list",
    re.IGNORECASE,
)
TEMPLATE = re.compile(
    r"^[ \t]*+(?:#++|\*\*)?+[ \t]*+(?:describe|what|how|steps|expected|actual|current|observed|desired"
    r"|additional|minimal|possible|bug|issue|feature|prerequisites|reproduc|summary|description|context"
    r"|checklist|problem)[\w' /,()-]{0,60}[?:*]*[ \t]*$"
    r"|^[ \t]*+[-*] \[[ xX]\] .*$"
    r"|^[ \t]*+(?:\$ |> )?(?:pip3?|python3? -m (?:pip|venv)|conda|git|cd|mkdir|source|virtualenv|touch|export"
    r"|docker|sudo|apt(?:-get)?|brew|npm (?:i|install)|curl|wget) .*$",
    re.IGNORECASE | re.MULTILINE,
)
"""Headings of issue templates, and commands that only set up a reproduction."""
PATH = re.compile(
    r"(?<![\w./\\~+@-])(?:[A-Za-z]:)?(?:[\w.~+@-]*+[/\\])++[\w.+@-]*\.[A-Za-z]{1,5}\b"
    r"|(?<![\w./\\-])[\w-]++\.(?:pyx?|js|ts|go|rs|java|rb|cc?|cpp|h)\b"
)
"""A path, which says nothing of names: `a/__init__.py` is not `__init__`."""
COLUMNS = re.compile(
    r"^[ \t]*((?:[A-Za-z]\w*+(?: \w++)*+[ \t]{2,}+)+[A-Za-z]\w*+)[ \t]*\n[ \t]*[-=+][-=+ \t]{5,}$",
    re.MULTILINE,
)
"""The header of a table in quoted output."""
CODE = re.compile(r"```.*?```|`[^`\n]+`|^(?: {4}|\t|>>> ).*?$", re.DOTALL | re.MULTILINE)
QUOTED = re.compile(
    r"(?<!\w)\"([^\"`\n]{12,160})\"|(?<!\w)'([^'`\n]{12,160})'(?!\w)"
    r"|^\w*(?:Error|Exception|Warning): (.{12,200})$|^[ \t]*\S{1,200}:\d+: (?:\w+: )?(.{12,200})$",
    re.MULTILINE,
)
"""A message: in quotes, behind an exception, or behind a place as in `a.py:5: note: ...`."""
SENTENCE = re.compile(r"(?:[\w'\".,-]++ ){4,}")
"""Begin of inline code that is a message."""
FENCE = re.compile(
    r"```.*?(?:```|\Z)|^(?:(?: {4}|\t|>>> |\.\.\. |In \[\d+\]).*\n?)+", re.DOTALL | re.MULTILINE
)
INLINE = re.compile(r"`+([^`\n]+)`+")
LITERAL = re.compile(r"(?<![\w/.@-])[A-Za-z]\w*(?:[-:]\w+)+(?![\w/@-])")
ADDRESS = re.compile(r"https?://\S+")
FRAME = re.compile(
    r"^[ \t>E]*File \"(?P<path>[^\"\n]{1,400})\", line (?P<line>\d{1,7})"
    r"(?:, in (?P<function>[\w.<>]{1,200}))?"
    r"|^(?P<short>[~\w./\\-]{1,400}\.py)(?::(?P<at>\d{1,7}):?)?(?: in (?P<named>\w{1,200}))?",
    re.MULTILINE,
)
MOST_NAMES = 60
MOST_PHRASES = 8
MOST_LITERALS = 12
COLUMN_SEPARATOR = "\t"
"""Between parts of a phrase that stand in the code each for itself."""
LONGEST_ISSUE = 60_000
DISTINCTIVE_WEIGHT = 1.2
"""Lowest weight of a word in the title or in code."""
MOST_FRAMES = 60


@dataclass(frozen=True, kw_only=True)
class TracedCall:
    """A traceback frame in the issue's text."""

    path: str
    line: int
    """0 where there is none."""
    function: str


@dataclass(frozen=True, kw_only=True)
class IssueTerms:
    names: dict[str, float]
    """Whole words of the issue with their weight: code-like words and words of the title weigh more."""
    words: dict[str, float]
    """The same, with the parts of each."""
    phrases: tuple[str, ...]
    """Literals of the code that it quotes: table headers, parts of messages."""
    zones: Mapping[str, Counter[str]]
    """Counts of each word in the title, inline code, blocks of code and output, and prose (code-like names or
    plain words)."""
    frames: tuple[TracedCall, ...]
    """In the order of the text: the innermost last."""
    text: str
    """The text without comments and the description of the reporter's machine."""

    @property
    def title(self) -> str:
        """The first line."""
        return next((line for line in self.text.splitlines() if line.strip()), "")

    @property
    def literals(self) -> tuple[str, ...]:
        """Words joined by hyphens or colons, such as `content-encoding`: perhaps strings of the code."""
        text = ADDRESS.sub(" ", PATH.sub(" ", self.text))
        return tuple(dict.fromkeys(word.lower() for word in LITERAL.findall(text)))[:MOST_LITERALS]

    @cached_property
    def distinctive(self) -> frozenset[str]:
        """Words of its title and its code."""
        return frozenset(word for word, weight in self.names.items() if weight >= DISTINCTIVE_WEIGHT)

    def original_words(self, stems: Iterable[str]) -> list[str]:
        """Return the issue's own word for each stem, such as `validation` for `valid`."""
        return [self._words_by_stem.get(word, word) for word in stems]

    @cached_property
    def _words_by_stem(self) -> Mapping[str, str]:
        return {
            stem_word(piece): piece
            for words in self.zones.values()
            for word in words
            for piece in identifier_parts(word)
        }


def extract_issue_terms(issue: str) -> IssueTerms:
    """Extract the most distinctive words and quoted messages of an issue, heaviest first."""
    text = _relevant_text(issue)
    plain = PATH.sub(" ", text)
    title = next((line for line in plain.splitlines() if line.strip()), "")
    if (first := WORD.match(title)) and first[0].istitle():  # as any sentence begins: no class is meant
        lowered = title[0].lower() + title[1:]
        plain, title = plain.replace(title, lowered, 1), lowered
    weights: dict[str, float] = {}
    in_code = {word for block in CODE.findall(plain) for word in WORD.findall(block)}
    in_title = set(WORD.findall(title))
    for word in WORD.findall(plain):
        if len(word) > 2 and word.lower() not in STOP_WORDS:
            weights[word] = (3.0 if is_code_like(word) else 1.2 if word in in_code else 0.5) + (
                1.5 if word in in_title else 0.0
            )
    names = dict(sorted(weights.items(), key=lambda pair: -pair[1])[:MOST_NAMES])
    words: dict[str, float] = {}
    for word, weight in weights.items():
        for part in identifier_terms(word):
            worth = weight if part == word else min(weight, 2.0)
            words[part] = max(words.get(part, 0.0), worth)
    return IssueTerms(
        names=names,
        words=words,
        phrases=tuple(dict.fromkeys(_phrases(text)))[:MOST_PHRASES],
        zones=_zones(plain, title),
        frames=tuple(_frames(text))[-MOST_FRAMES:],
        text=text,
    )


def _zones(text: str, title: str) -> dict[str, Counter[str]]:
    rest = ADDRESS.sub(" ", text[text.find(title) + len(title) :])
    blocks = "\n".join(FENCE.findall(rest))
    prose = FENCE.sub("\n", rest)
    inline = " ".join(INLINE.findall(prose))
    counts = Counter(WORD.findall(INLINE.sub(" ", prose)))
    return {
        "title": Counter(WORD.findall(title)),
        "inline": Counter(WORD.findall(inline)),
        "block": Counter(WORD.findall(blocks)),
        "name": Counter({word: count for word, count in counts.items() if is_code_like(word)}),
        "prose": Counter({word: count for word, count in counts.items() if not is_code_like(word)}),
    }


def _frames(text: str) -> Iterator[TracedCall]:
    """Yield traceback frames in the formats of Python, pytest and IPython."""
    for match in FRAME.finditer(text):
        path, line, function = (
            match["path"] or match["short"],
            match["line"] or match["at"],
            match["function"] or match["named"],
        )
        if line or function:
            yield TracedCall(path=path.replace("\\", "/"), line=int(line or 0), function=function or "")


def _relevant_text(issue: str) -> str:
    """Return the issue without comments and sections about the reporter's machine."""
    text = COMMENT.sub(" ", issue[:LONGEST_ISSUE].replace("\r\n", "\n"))
    starts = [match.start() for match in HEADING.finditer(text)]
    sections = [text[start:end] for start, end in zip([0, *starts], [*starts, len(text)], strict=True)]
    relevant = [
        section
        for index, section in enumerate(sections)
        if not index or not ENVIRONMENT_HEADING.search(section.split("\n", 2)[0][:80])
    ]
    first, newline, rest = "".join(relevant).strip("\n").partition("\n")
    return f"{first}{newline}{TEMPLATE.sub('', rest)}"


def is_code_like(word: str) -> bool:
    """Tell whether a word is in snake_case, CamelCase or camelCase."""
    return "_" in word.strip("_") or word.startswith("_") or bool(re.search(r"[a-z][A-Z]", word))


def strip_private(name: str) -> str:
    """Return a name without its underscores; a special method is not named by its word (`__contains__`)."""
    return name if name.startswith("__") and name.endswith("__") else name.strip("_")


def _phrases(text: str) -> Iterator[str]:
    """Yield headers of tables, and quoted messages.

    Messages are cut at numbers, quoted values and paths, which were probably filled in.
    """
    for header in COLUMNS.findall(text):
        yield COLUMN_SEPARATOR.join(f'"{column}"' for column in re.split(r"[ \t]{2,}", header))
    messages = [next(filter(None, groups), "") for groups in QUOTED.findall(text)]
    for message in [*messages, *filter(SENTENCE.match, INLINE.findall(FENCE.sub("\n", text)))]:
        segments = re.split(r"['\"`<>{}\[\]()]|\b\d+\b|/\S+|\\n", message)
        longest = max(segments, key=len).strip(" .,:;")
        if len(longest) >= 12 and " " in longest:
            yield longest
