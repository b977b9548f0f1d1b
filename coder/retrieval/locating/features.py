"""What speaks for each definition and each file, as numbers that the weights make one of."""

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from coder.files.tokenize import parts
from coder.index.definition import Definition
from coder.index.resolve import imported
from coder.retrieval.locating.corpus import Terrain
from coder.retrieval.locating.identifier_uses import Uses
from coder.retrieval.locating.issue_terms import Clues
from coder.retrieval.locating.references import Pointed
from coder.retrieval.locating.text_match import Matches, worth
from coder.workspace.files import standing, text_of

MOST_DEFINITIONS = 260
NAMED = 0.35
"""A word of a definition's name counts so much more when the candidates are chosen."""
CALL = re.compile(r"(?P<of>\w+\.)?(?P<name>[A-Za-z_]\w{2,})\(")
UNKNOWN_RARITY = 6.0
"""Of a word that no posting was read for."""

Evidence = dict[str, float]


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A definition that something speaks for."""

    path: str
    item: Definition
    evidence: Evidence

    @property
    def key(self) -> tuple[str, str]:
        return self.path, self.item.name

    @property
    def length(self) -> int:
        return self.item.end - self.item.line


@dataclass(frozen=True, kw_only=True)
class Case:
    """An issue, the terrain, and what was found in it."""

    terrain: Terrain
    clues: Clues
    matches: Matches
    pointed: Pointed
    uses: Uses

    def candidates(self) -> list[Candidate]:
        """The definitions that words or pointers lead to."""
        found: dict[tuple[str, str], Candidate] = {}
        for word in self._by_words():
            other = found.get(word.key)
            if other is None or word.length > other.length:  # of overloads the one with the body
                found[word.key] = word
        for path, name in self.pointed.definitions:
            if (path, name) not in found:
                item = next(
                    (item for item in self.terrain.snapshot.definitions(path) if item.name == name), None
                )
                if item is not None:
                    found[(path, name)] = Candidate(
                        path=path, item=item, evidence=self.evidence(path, item, 0.0)
                    )
        return list(found.values())

    def _by_words(self) -> Iterator[Candidate]:
        scores = dict(self.matches.documents)
        for document, words in self.matches.named.items():
            scores[document] = scores.get(document, 0.0) + NAMED * sum(
                self.matches.weights[word] for word in words
            )
        for document in sorted(scores, key=lambda item: (-scores[item], item))[:MOST_DEFINITIONS]:
            place = self.terrain.place(document)
            if place and place.definition:
                score = self.matches.documents.get(document, 0.0)
                yield Candidate(
                    path=place.path,
                    item=place.definition,
                    evidence=self.evidence(place.path, place.definition, score),
                )

    def evidence(self, path: str, item: Definition, words: float) -> Evidence:
        """All that speaks for one definition, before what it is called by."""
        found: Evidence = {
            "words": words,
            "size": math.log(1 + item.end - item.start) if item.kind != "class" else 2.5,
            item.kind: 1.0,
        }
        if item.bare.startswith("__"):
            found["constructor" if item.bare == "__init__" else "special"] = 1.0
        found |= {1: {"test": 1.0}, 2: {"aside": 1.0}}.get(standing(path), {})
        found |= self._of_name(item.bare)
        if owner := item.name.rpartition(".")[0].rpartition(".")[2]:
            found |= self._of_owner(owner, item.bare)
        if used := self.uses.of(path, item):
            found["uses"] = sum(self.uses.worth[name] for name in used)
        if tested := self.pointed.files.get(path, {}).get("tested"):
            found["tested"] = tested
        found |= self.pointed.definitions.get((path, item.name), {})
        inherited = self.pointed.definitions.get((path, item.name.rpartition(".")[0]), {})
        if "base" in inherited:
            found["base"] = max(found.get("base", 0.0), inherited["base"])
        return found

    def _of_name(self, bare: str) -> Evidence:
        """Is it named, where, and how much of its name does the issue say?"""
        found: Evidence = {}
        zones = [
            zone
            for zone, words in self.clues.zones.items()
            if bare in words or (len(bare.strip("_")) > 3 and bare.strip("_") in words)
        ]
        if zones or bare in self.clues.called:
            rare = self._rare(bare)
            found |= {f"named in {zone}": rare for zone in zones}
            if bare in self.clues.called:
                found["called"] = rare
        words = [word for word in parts(bare) if word != bare] or list(parts(bare))
        said = [word for word in words if word in self.matches.weights]
        if said:
            rarity = self.matches.rarity
            whole = sum(rarity.get(word, UNKNOWN_RARITY) for word in words)
            found["name said"] = (
                sum(rarity[word] for word in said)
                / whole
                * min(1.0, sum(self.matches.weights[word] for word in said))
            )
            found["name in title"] = sum(rarity[word] for word in said if word in self.matches.titled) / whole
        return found

    def _of_owner(self, owner: str, bare: str) -> Evidence:
        found: Evidence = {}
        zones = [
            zone for zone in ("title", "inline", "block", "name", "prose") if owner in self.clues.zones[zone]
        ]
        if zones:
            found |= {f"owner in {zone}": self._rare(owner) for zone in zones}
            if f"{owner}.{bare}" in self.clues.text or f"{owner}.{bare}" in self.clues.methods:
                found["qualified"] = 1.0
        if bare in self.clues.protocol:
            found["protocol"] = 1.0 if zones else 0.3
        return found

    def _rare(self, bare: str) -> float:
        """Less for a name that many files define."""
        return float(self._definers(bare) ** -0.5)

    def _definers(self, bare: str) -> int:
        if bare not in self._counted:
            found = self.terrain.snapshot.definers(bare)
            self._counted[bare] = max(1, sum(standing(path) == 0 for path in found))
        return self._counted[bare]

    @cached_property
    def _counted(self) -> dict[str, int]:
        return {}

    def callees(self, callers: Sequence[Candidate]) -> Iterator[tuple[str, Definition, float]]:
        """Definitions that the likeliest ones call: path, definition, and how much that counts."""
        for order, caller in enumerate(callers):
            lines = text_of(self.terrain.snapshot.root, caller.path).split("\n")[
                caller.item.start - 1 : caller.item.end
            ]
            called = dict.fromkeys(
                (match["of"] or "", match["name"]) for match in CALL.finditer("\n".join(lines))
            )
            for _, name in called:
                same = [
                    item
                    for item in self.terrain.snapshot.definitions(caller.path)
                    if item.bare == name and item.kind != "variable"
                ]
                places = [(caller.path, item) for item in same] or self._elsewhere(name)
                for path, item in places:
                    if (path, item.name) != caller.key:
                        yield path, item, (1.0 if same else 0.7) / (1 + order / 3) / len(places) ** 0.5

    def nested(self, outer: Candidate) -> Iterator[Candidate]:
        """The definitions inside a function, which are no documents of their own."""
        found = [
            item
            for item in self.terrain.snapshot.definitions(outer.path)
            if item.name.startswith(f"{outer.item.name}.")
        ]
        if outer.item.kind == "class" or not found:
            return
        lines = text_of(self.terrain.snapshot.root, outer.path).split("\n")
        for item in found:
            if item.kind != "variable" and outer.item.start <= item.start <= outer.item.end:
                score = worth(self.terrain, self.matches, "\n".join(lines[item.start - 1 : item.end]))
                yield Candidate(path=outer.path, item=item, evidence=self.evidence(outer.path, item, score))

    def _elsewhere(self, name: str) -> list[tuple[str, Definition]]:
        if not 1 <= len(self.terrain.snapshot.definers(name)) <= 6:
            return []
        places = [
            place
            for place in self.terrain.snapshot.defined(name)
            if standing(place.path) == 0 and place.definition
        ]
        return (
            [(place.path, place.definition) for place in places if place.definition]
            if len(places) <= 3
            else []
        )

    def files(self, scored: Mapping[tuple[str, str], float]) -> dict[str, Evidence]:
        """What speaks for each file, given what speaks for definitions."""
        found: dict[str, Evidence] = defaultdict(dict)
        for number, score in self.matches.files.items():
            found[self.terrain.paths[number]]["words"] = score
        for path, kinds in self.pointed.files.items():
            found[path] |= kinds
        inside: dict[str, list[float]] = defaultdict(list)
        for (path, _), score in scored.items():
            inside[path].append(score)
        least = min(scored.values(), default=0.0)
        for path, scores in inside.items():
            found[path]["definitions"] = math.log(sum(math.exp(score - least) for score in scores))
            found[path]["best definition"] = max(scores) - least
        self._of_paths(found)
        for path, evidence in found.items():
            evidence["size"] = math.log(1 + self._size(path)) / 3
            evidence |= {"package": 1.0} if path.endswith("__init__.py") else {}
            evidence |= {1: {"test": 1.0}, 2: {"aside": 1.0}}.get(standing(path), {})
        return found

    def telling(self, path: str) -> list[str]:
        """The issue's words in a file, those that tell most first."""
        said = self.matches.telling.get(self._numbers.get(path, -1), {})
        return self.clues.as_written(sorted(said, key=lambda word: (-said[word], word)))

    def _size(self, path: str) -> int:
        number = self._numbers.get(path)
        return self.terrain.sizes[number] if number is not None else 0

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {path: number for number, path in enumerate(self.terrain.paths)}

    def _of_paths(self, found: Mapping[str, Evidence]) -> None:
        """Words that are part of a path, rarer ones more; and a file's own name."""
        holding: dict[str, int] = defaultdict(int)
        words_in = {path: _path_words(path) for path in self.terrain.paths}
        for words in words_in.values():
            for word in words:
                holding[word] += 1
        said = {
            name.lower() for zone in ("title", "inline", "block", "name") for name in self.clues.zones[zone]
        }
        title = {name.lower() for name in self.clues.zones["title"]}
        for path, words in words_in.items():
            if path in found:
                telling = {
                    word: share * holding[word] ** -0.5
                    for word, share in words.items()
                    if word in self.matches.weights
                }
                found[path]["path said"] = sum(telling.values())
                found[path]["path in title"] = sum(
                    share for word, share in telling.items() if word in self.matches.titled
                )
                own = own_name(path).lower()
                if own in said:
                    found[path]["stem in title" if own in title else "stem said"] = (
                        max(1, holding[own]) ** -0.5
                    )


def own_name(path: str) -> str:
    """What a file is called for: its stem, or its folder's name where it is the package itself."""
    *folders, name = path.split("/")
    stem = name.rpartition(".")[0]
    return (folders[-1] if stem in ("__init__", "index", "mod") and folders else stem).strip("_")


def _path_words(path: str) -> dict[str, float]:
    """The words of a path; those of the file's own name count whole."""
    *folders, name = path.split("/")
    words: dict[str, float] = {}
    own = own_name(path)
    for piece in (*folders, name.rpartition(".")[0]):
        share = 1.0 if piece.strip("_") == own else 0.5
        for word in (piece.lower(), *parts(piece)):
            words[word] = max(words.get(word, 0.0), share)
    return words


def neighbours(terrain: Terrain, best: Iterable[str]) -> dict[str, float]:
    """Files that the likeliest files import."""
    found: dict[str, float] = {}
    for path in best:
        others = imported(terrain.snapshot, path)
        for other in others:
            found[other] = max(found.get(other, 0.0), 1 / (1 + math.log(1 + len(others))))
    return found
