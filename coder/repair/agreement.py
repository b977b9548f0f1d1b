"""Which survivors of a search say the same, and what tells those that do not apart.

Edits that turn weak tests green differ where no test looks. The idea to ask them the same further questions, and to distrust those that
change more than others, is that of Y. Xiong et al., "Identifying Patch Correctness in Test-Based Program Repair" (ICSE 2018).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from coder.core.trials import Compared
from coder.repair.candidates import Candidate

MAJORITY = 0.5
"""Of all that speaks for any survivor, an opinion needs so much to be believed."""
SHOWN = 60
ACCIDENT = 4.0
"""How much it counts against an opinion that its answers are accidents where another's are none."""
ACCIDENTS = frozenset(
    f"raises {name}"
    for name in (
        "AttributeError",
        "IndexError",
        "NameError",
        "RecursionError",
        "TooLong",
        "TypeError",
        "UnboundLocalError",
        "ZeroDivisionError",
    )
)
"""What code raises where it is at a loss, rather than on purpose."""


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


def opinions(ranked: Sequence[Candidate], worth: Mapping[Candidate, float], found: Compared) -> list[Opinion]:
    """Group survivors (most credible first) by what they answer, the weightiest group first; who was not asked speaks for itself."""
    groups: dict[object, list[int]] = {}
    for place, candidate in enumerate(ranked):
        answers = found.after[place] if place < len(found.after) else ()
        groups.setdefault(answers or candidate, []).append(place)
    changed = {key: _changed(found, found.after[places[0]] if found.after else ()) for key, places in groups.items()}
    stumbled = {key: _stumbled(found.after[places[0]]) if found.after else 0.0 for key, places in groups.items()}
    least, surest = min(changed.values(), default=0.0), min(stumbled.values(), default=0.0)
    made = []
    for key, places in groups.items():
        members = tuple(ranked[place] for place in places)
        families: dict[str, float] = {}
        for member in members:
            families[member.edit.family] = max(worth[member], families.get(member.edit.family, 0.0))
        weight = sum(families.values()) / (1 + 2 * (changed[key] - least)) / (1 + ACCIDENT * (stumbled[key] - surest))
        made.append(Opinion(members=members, answers=found.after[places[0]] if found.after else (), weight=weight))
    return sorted(made, key=lambda opinion: (-opinion.weight, ranked.index(opinion.first)))


def decided(held: Sequence[Opinion]) -> bool:
    """Does the first of these opinions outweigh the others together?"""
    return bool(held) and held[0].weight >= MAJORITY * sum(opinion.weight for opinion in held)


def apart(opinion: Opinion, others: Sequence[Opinion], found: Compared) -> str:
    """A call that an opinion answers otherwise than the others, with its answer and theirs; empty where none was seen."""
    for other in others:
        for call, mine, theirs in zip(found.calls, opinion.answers, other.answers, strict=False):
            if mine != theirs:
                return f"{call} gives {_cut(mine)}, elsewhere {_cut(theirs)}"
    return ""


def _changed(found: Compared, answers: Sequence[str]) -> float:
    """The part of the unchanged code's answers that are others now."""
    pairs = [*zip(found.before, answers, strict=False)]
    return sum(before != after for before, after in pairs) / len(pairs) if pairs else 0.0


def _stumbled(answers: Sequence[str]) -> float:
    """The part of the answers that are accidents."""
    return sum(answer in ACCIDENTS for answer in answers) / len(answers) if answers else 0.0


def _cut(text: str) -> str:
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 3]}..."
