"""Tokenization of code and prose into the same terms, so that `parse_retryAfter` matches "retry after"."""

import re
from collections import Counter
from functools import lru_cache

from Stemmer import Stemmer  # type: ignore[import-not-found]  # the package has no types

WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]+")
PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
STOP_WORD_TEXT = """
the and for that this with from are was were not but have has had can will would should could when what which
there their then than been being does did doing into also only just like some any all more most other such
each very here how why who its our your you use used using example expected actual behavior behaviour result
issue bug error errors problem code version python file line last recent call traceback import print self none
true false return def class get set add new old one two see need want work works working instead because while
where after before run running make made case way test tests same different fix seems please think else elif
try except raise pass lambda description steps reproduce reproducing current currently since still even
without within between https http com org www github html args kwargs str int list dict type object function
method module package pip install site usr home local main master windows linux macos given pull request
comment comments docs documentation value values name names if is in it of on to as at be by do no or so up we
an my me he
"""
STOP_WORDS = frozenset(STOP_WORD_TEXT.split())


def count_terms(text: str) -> Counter[str]:
    """Count each identifier and the stems of its parts (`retry`, `valid` for `validation`), in lower case."""
    counts: dict[str, int] = {}  # a Counter looks each new key up in Python
    for word, count in Counter(WORD.findall(text)).items():
        for part in identifier_terms(word):
            counts[part] = counts.get(part, 0) + count
    return Counter(counts)


@lru_cache(maxsize=200_000)
def identifier_terms(word: str) -> tuple[str, ...]:
    """Return an identifier and the stems of its parts, without stop words and single letters."""
    word_pieces = identifier_parts(word)
    stems = dict.fromkeys(
        stem_word(piece) for piece in word_pieces if not {piece, _singular(piece)} & STOP_WORDS
    )
    return (*stems, word) if len(word_pieces) > 1 else tuple(stems)


def identifier_parts(word: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(piece.lower() for piece in PART.findall(word) if len(piece) > 1))


@lru_cache(maxsize=200_000)
def stem_word(word: str) -> str:
    """Return the common stem of words such as `validate`, `validation` and `validator`.

    Uses Porter's second stemmer for English (Porter2).

    Each call has its own stemmer, because stemmers are not thread-safe.
    """
    stemmed: str = Stemmer("english", 0).stemWord(word)
    return stemmed


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
