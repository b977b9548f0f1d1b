"""Finds secrets in text and masks them: the person's own, tokens of known shape, and values too random to be anything else."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from math import log2
from typing import TypeVar

from pydantic import BaseModel

Held = TypeVar("Held", bound=BaseModel)

SHAPES = {
    "private key": (
        r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(?:\s*[\w-]+: [^\n]*+)*+(?:[\s|\d\\nr\"',+-]*+[A-Za-z0-9+/]{16,}+={0,2}+)++"
        r"(?:[^-]{0,80}-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----)?"
    ),
    "Anthropic key": r"\bsk-ant-[\w-]{20,}",
    "OpenAI key": r"\bsk-(?=[\w-]*\d)(?=[\w-]*[A-Z])(?:proj-|svcacct-|admin-)?[\w-]{20,}",
    "OpenRouter key": r"\bsk-or-v1-[0-9a-f]{40,}",
    "AWS access key": r"\b(?:AKIA|ASIA)[A-Z2-7]{16}\b",
    "GitHub token": r"\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_\w{50,})",
    "GitLab token": r"\bglpat-[\w-]{20,}",
    "Google key": r"\bAIza[\w-]{35}(?![\w-])",
    "Google token": r"\bya29\.[\w-]{20,}|\bGOCSPX-[\w-]{20,}",
    "Slack token": r"\bxox[abeoprs]-[\w-]{10,}|\bxapp-\d-[\w-]{20,}|(?<=hooks\.slack\.com/services/)T\w+/B\w+/\w{16,}",
    "Stripe key": r"\b(?:[sr]k_(?:live|test)_|whsec_)[A-Za-z0-9]{16,}",
    "JSON web token": r"\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}",
    "npm token": r"\bnpm_[A-Za-z0-9]{36}\b",
    "PyPI token": r"\bpypi-[\w-]{50,}",
    "Hugging Face token": r"\bhf_[A-Za-z]{30,}\b",
    "SendGrid key": r"\bSG\.[\w-]{16,}\.[\w-]{16,}",
}
"""As their issuers document them, and as secret scanners (gitleaks, detect-secrets) look for them."""
_SHAPED = re.compile("|".join(f"(?P<s{number}>{shape})" for number, shape in enumerate(SHAPES.values())))
_KEY_BEGINS = re.compile(r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY")
_KEY_ENDS = re.compile(r"-----END [A-Z0-9 ]*PRIVATE KEY")
_KEY_LINE = re.compile(r"[\s|\d>\"',+-]*(?:[\w-]+: .*|[A-Za-z0-9+/=]*)[\s\\nr\"',+]*")
"""What follows the first line: a header, an empty line, base 64, with a diff's or a listing's marks in front."""
_ASSIGNED = re.compile(
    r"""(?ix) (?P<before>
        (?:passw(?:or)?d|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credential)[\w-]* ["']? \s*(?:=>|[=:])\s* ["']?
      | \bauthorization["']?\s*[:=]\s*["']?(?:(?:basic|bearer|token)\s+)?
      | \bbearer\s+
      | ://[^\s/:@"']+:(?=[^\s/:@"']+@)
    ) (?P<value>[^\s"'`,;<>(){}\[\]\\@]{8,200})"""
)
_RUN = re.compile(r"(?<![\w+/=-])[A-Za-z0-9+/_-]{24,128}={0,2}(?![\w+/=-])")
_NAMED_HASH = re.compile(r"(?i)(?:sha-?\d{1,3}|md5|h1|integrity|checksum|fingerprint|hash|digest|nonce|etag|ssh-\w+|base64)\W{1,4}$")
_HASH = re.compile(r"sha\d{1,3}-")
_HEX = re.compile(r"(?i)[0-9a-f-]+")
_WORDS = re.compile(r"(?:^|[/_-])[a-z]{5,}(?:$|[/_-])")
_PRETEND = re.compile(
    r"(?i)example|change-?me|placeholder|dummy|redacted|sample|foobar|abc123|secret|passw|token|xxx|test|fake|your|user|\*\*\*|12345|\$|%"
)
_OWN_NAME = re.compile(r"(?i)(?:^|_)(?:api)?key(?:$|_)|token|secret|passw|credential|auth(?!or)|private|_pat$|dsn$|cookie")
_HARMLESS = re.compile(r"(?:[A-Za-z]+[_-]?){1,3}|\d{1,15}|https?://[^@]*|[/~.].*", re.DOTALL)
"""Values that say nothing by themselves, such as a method's name, a number of seconds, an address, a path."""
SHORTEST_OWN = 8
PLACEHOLDER = re.compile(r"\[masked: (?:a secret|a random value|[\w ]+ (?:key|token)|[\w ]+ of yours)\]")
"""What stands in the place of a secret."""


@dataclass(frozen=True, kw_only=True)
class Secrets:
    """What is to be kept out of a text."""

    own: tuple[str, ...] = ()
    """The person's own secret values, the longest first."""

    def masked(self, text: str) -> str:
        """The text with every secret in it replaced by a word on what stood there."""
        text = self.without_own(text)
        text = _SHAPED.sub(lambda found: _mask(_name(found)), text)
        text = _ASSIGNED.sub(_assigned, text)
        return _RUN.sub(_run, text)

    def by_line(self) -> Callable[[str], str]:
        """Mask lines that come one by one: a private key begins with one that says so, and goes on while they look like it."""
        inside = False

        def mask(line: str) -> str:
            nonlocal inside
            ends = _KEY_ENDS.search(line)
            hidden = bool(_KEY_BEGINS.search(line) if not inside else ends or _KEY_LINE.fullmatch(line))
            inside = hidden and not ends
            return _mask("private key") if inside or (hidden and not _KEY_BEGINS.search(line)) else self.masked(line)

        return mask

    def out_of(self, value: Held) -> Held:
        """The value without the person's own secrets in any of its texts."""
        if not self.own or self.without_own(str(value.model_dump())) == str(value.model_dump()):
            return value
        return type(value).model_validate(self._walked(value.model_dump(mode="json")))

    def _walked(self, data: object) -> object:
        match data:
            case str():
                return self.without_own(data)
            case dict():
                return {name: self._walked(inner) for name, inner in data.items()}
            case list():
                return [self._walked(inner) for inner in data]
            case _:
                return data

    def without_own(self, text: str) -> str:
        """The text without the person's own values, but otherwise as it is."""
        for value in self.own:
            text = text.replace(value, _mask("a secret of yours"))
        return text


def own_values(environment: Mapping[str, str]) -> tuple[str, ...]:
    """The values of variables whose names say that they are secret, the longest first; paths, addresses and plain words are none."""
    values = {
        value.strip()
        for name, value in environment.items()
        if _OWN_NAME.search(name) and len(value.strip()) >= SHORTEST_OWN and not _HARMLESS.fullmatch(value.strip())
    }
    return tuple(sorted(values, key=lambda value: (-len(value), value)))


def random_looking(value: str) -> bool:
    """Is this drawn by lot from letters of both cases and digits, and not a name, a path, a hash or a number?

    What tells them apart is how often one kind of character follows another: in random base 62 at 62 of 100 places, in names at about 20.
    """
    core = value.strip("=")
    kinds = ["u" if letter.isupper() else "l" if letter.islower() else "d" if letter.isdigit() else "" for letter in core]
    if _HEX.fullmatch(core) or not {"u", "l", "d"} <= set(kinds) or core.startswith(("AAAA", "/", "_Z")) or _WORDS.search(core):
        return False
    turns = sum(first != second for first, second in pairwise(kinds)) / (len(kinds) - 1)
    return turns >= 0.45 and kinds.count("") * 8 <= len(kinds) and _entropy(core) >= 3.7


def _entropy(text: str) -> float:
    """Shannon's, in bits a character."""
    shares = [text.count(letter) / len(text) for letter in set(text)]
    return -sum(share * log2(share) for share in shares)


def _mask(what: str) -> str:
    return f"[masked: {what}]"


def _name(found: "re.Match[str]") -> str:
    return list(SHAPES)[int((found.lastgroup or "s0")[1:])]


def _assigned(found: "re.Match[str]") -> str:
    value = found["value"]
    if not _literal_secret(value):
        return found[0]
    return f"{found['before']}{_mask('a secret')}"


def _literal_secret(value: str) -> bool:
    """Is this a password or token itself, and not code that fetches one, or one made up for an example?"""
    letters, digits = sum(map(str.isalpha, value)), sum(map(str.isdigit, value))
    code = re.fullmatch(r"[A-Za-z_][A-Za-z_]*(?:[./:=-][A-Za-z_]\w*)+", value)
    enough = digits >= 2 or (digits == 1 and len(value) >= 20)
    return letters >= 3 and enough and not code and not _PRETEND.search(value) and len(set(value)) >= 6 and not value.startswith(("/", "."))


def _run(found: "re.Match[str]") -> str:
    before = found.string[max(0, found.start() - 20) : found.start()]
    if not random_looking(found[0]) or _NAMED_HASH.search(before) or _HASH.match(found[0]):
        return found[0]
    return _mask("a random value")
