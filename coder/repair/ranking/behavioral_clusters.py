"""Which survivors of a search say the same, and what tells those that do not apart.

Edits that turn weak tests green differ where no test looks. The idea to ask them the same further questions, and to distrust those that
change more than others, is that of Y. Xiong et al., "Identifying Patch Correctness in Test-Based Program Repair" (ICSE 2018).
"""

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from coder.core.ports.repair import Compared
from coder.python.parsing import parsed
from coder.python.source import Source
from coder.repair.candidates import Candidate
from coder.repair.ranking.answers import changed, contradicting, levelled, stumbling
from coder.repair.ranking.type_hints import mistyped

MOST_OF_ALL, MAJORITY, LEAD = 1.1, 0.4, 2.0
"""An opinion is believed that has so many times what speaks for all others; or so much of what speaks for any, and so many times what
speaks for the next."""
CLEAR, LEAST_CONTESTED = 3.0, 0.8
"""One failing test lets much through that is not right: where others answer otherwise, the first has so many times what speaks for them,
or is so likely in itself, or is a mere slip."""
SLIPS = frozenset(
    {"argument_order", "arithmetic", "boolean", "boundary", "comparison", "constant", "negation"}
)
"""Families that bring in nothing that is not there: another sign, another order."""
SHOWN = 60
SECONDED = 0.35
"""What a further family that says the same adds of its own weight."""
ACCIDENT = 4.0
"""How much it counts against an opinion that its answers are accidents where another's are none."""
CONTRADICTION = 4.0
"""How much it counts against an opinion that it goes against an example or an annotation which another one keeps to."""
NEARLY = 0.8
"""Of those that say the same, the simplest comes first that is worth so much of the best."""
LEVELLED = 0.2
"""What an opinion is worth by which a function no longer tells anything apart."""


@dataclass(frozen=True)
class Opinion:
    """Survivors that give the same answers to all calls."""

    members: tuple[Candidate, ...]
    """Most credible first."""
    answers: tuple[str, ...]
    weight: float
    """What independent families say for it, together; less where it changes more than another does, or stumbles where another does not."""

    @property
    def first(self) -> Candidate:
        return self.members[0]


def opinions(
    ranked: Sequence[Candidate],
    worth: Mapping[Candidate, float],
    found: Compared,
    hinted: Mapping[str, str] | None = None,
    sources: Mapping[str, Source] | None = None,
) -> list[Opinion]:
    """Group survivors (most credible first) by what they answer, the weightiest group first; who was not asked speaks for itself.

    So does an edit of a function that was not asked itself: that those who call it answer the same tells little. So does one that changes
    no answer, though it turns tests green: what was asked does not see what it does. Given the `sources`, edits that make the same of it
    are one, and so are those that put the same statement into a function.
    """
    groups: dict[object, list[int]] = {}
    asked = {call.partition("(")[0].rpartition(".")[2] for call in found.calls}
    for place, candidate in enumerate(ranked):
        answers = found.after[place] if place < len(found.after) else ()
        names = candidate.place.rpartition("::")[2].split(
            "."
        )  # a function inside of one that was asked has been heard with it
        alone = is_blind(answers, found) or asked.isdisjoint(names)
        text = (
            _put_in(candidate) or meant(candidate.edit.apply(sources[candidate.edit.path].text))
            if sources and alone
            else ""
        )
        groups.setdefault((answers, text) if answers or text else candidate, []).append(place)
    least = min((changed(_answers(found, places), found) for places in groups.values()), default=0.0)
    surest = min((stumbling(_answers(found, places)) for places in groups.values()), default=0.0)
    truest = min((contradicting(_answers(found, places), found) for places in groups.values()), default=0.0)
    plainest = min(
        (mistyped(_answers(found, places), found, hinted or {}) for places in groups.values()), default=0.0
    )
    made = []
    for places in groups.values():
        members = _simplest_first([ranked[place] for place in places], worth, sources)
        answers = _answers(found, places)
        weight = (
            _said(members, worth)
            / (1 + 2 * (changed(answers, found) - least))
            / (1 + ACCIDENT * (stumbling(answers) - surest))
        )
        against = contradicting(answers, found) > truest or mistyped(answers, found, hinted or {}) > plainest
        weight /= 1 + CONTRADICTION * against
        weight *= LEVELLED if levelled(answers, found) else 1.0
        made.append(Opinion(members=members, answers=answers, weight=weight))
    return sorted(made, key=lambda opinion: (-opinion.weight, ranked.index(opinion.first)))


def _put_in(candidate: Candidate) -> str:
    """Where what stands there stays and statements come in: the function and these; else nothing."""
    changes = candidate.edit.changes
    if any(
        change.end > change.start or "\n" not in change.text or change.text.rstrip().endswith(":")
        for change in changes
    ):
        return ""
    return "\n".join([candidate.place, *(change.text.strip() for change in changes)])


def is_blind(answers: tuple[str, ...], found: Compared) -> bool:
    """Was nothing asked, or nothing that tells an edit from the code before it?"""
    return answers in ((), found.before)


def _simplest_first(
    same: Sequence[Candidate], worth: Mapping[Candidate, float], sources: Mapping[str, Source] | None
) -> tuple[Candidate, ...]:
    """Of those that are worth nearly as much as the best the simplest come first, then the others by what they are worth."""
    ordered = sorted(same, key=lambda item: -worth[item])
    near = [item for item in ordered if worth[item] >= NEARLY * worth[ordered[0]]]
    far = ordered[len(near) :]
    if sources and len(near) > 1:
        near.sort(key=lambda item: _size(item.edit.apply(sources[item.edit.path].text)))
    return (*near, *far)


def _size(text: str) -> int:
    """How much a module says, however it is written."""
    try:
        return sum(1 for _ in ast.walk(parsed(text)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return len(text)


def meant(text: str) -> str:
    """What a module says: the same for `not x in y` and `x not in y`, and whatever the parentheses; its text where it is no Python."""
    try:
        return ast.dump(Plain().visit(parsed(text)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return text


class Plain(ast.NodeTransformer):
    """Writes alike what is the same where nobody says otherwise: `not (a == b)` and `a != b`, named arguments in any order."""

    OPPOSITES: ClassVar[dict[type[ast.cmpop], ast.cmpop]] = {
        ast.Eq: ast.NotEq(),
        ast.NotEq: ast.Eq(),
        ast.In: ast.NotIn(),
        ast.NotIn: ast.In(),
        ast.Is: ast.IsNot(),
        ast.IsNot: ast.Is(),
    }

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:  # a name that NodeTransformer looks for
        self.generic_visit(node)
        match node:
            case ast.UnaryOp(op=ast.Not(), operand=ast.Compare(ops=[op]) as asked) if (
                type(op) in self.OPPOSITES
            ):
                asked.ops = [self.OPPOSITES[type(op)]]
                return asked
            case _:
                return node

    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        if all(keyword.arg for keyword in node.keywords):
            node.keywords.sort(key=lambda keyword: str(keyword.arg))
        return node


def _answers(found: Compared, places: Sequence[int]) -> tuple[str, ...]:
    return found.after[places[0]] if places[0] < len(found.after) else ()


def _said(members: Sequence[Candidate], worth: Mapping[Candidate, float]) -> float:
    """The best that speaks for members, and a part of what other families add: there are many ways to do away with a behaviour."""
    families: dict[str, float] = {}
    for member in members:
        families[member.edit.family] = max(worth[member], families.get(member.edit.family, 0.0))
    best = max(families.values(), default=0.0)
    return best + SECONDED * (sum(families.values()) - best)


def decided(held: Sequence[Opinion], *, tests: int) -> bool:
    """Does the first of these opinions outweigh the others together by far enough, or nearly so and each of them clearly?

    `tests` is how many failing tests they all turn green.
    """
    if not held:
        return False
    first, others = held[0].weight, [opinion.weight for opinion in held[1:]]
    slip = held[0].first.edit.family in SLIPS
    if tests == 1 and not slip and first < min(LEAST_CONTESTED, CLEAR * sum(others)):
        return False
    return first >= MOST_OF_ALL * sum(others) or (
        first >= MAJORITY * (first + sum(others)) and first >= LEAD * max(others)
    )


def apart(opinion: Opinion, others: Sequence[Opinion], found: Compared) -> str:
    """A call that an opinion answers otherwise than the others, with its answer and theirs; empty where none was seen."""
    for other in others:
        for call, mine, theirs in zip(found.calls, opinion.answers, other.answers, strict=False):
            if mine != theirs:
                return f"{call} gives {_cut(mine)}, elsewhere {_cut(theirs)}"
    return ""


def _cut(text: str) -> str:
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 3]}..."
