"""Spectrum-based fault localisation: which lines do failing tests execute that passing tests do not?

The measure is Ochiai, from R. Abreu, P. Zoeteweij and A. J. C. van Gemund, "On the Accuracy of Spectrum-based Fault Localization"
(TAIC PART 2007): failed(line) / sqrt(failed * (failed(line) + passed(line))).
"""

import ast
import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

from coder.core.ports.repair import Trace
from coder.core.values.paths import is_test_path
from coder.core.values.proposal import Suspect
from coder.core.values.verdict import Failure
from coder.python.source import Function, Source, header
from coder.repair.context.donor_code import BUILTIN, bound
from coder.repair.context.endless_loops import ENDLESS
from coder.repair.context.scope import arguments_of, idle, likeness, stored
from coder.repair.generators.names.demanded import LEAST_ALIKE, asked_for, defined

INNERMOST = (1.3, 1.15, 1.05)
"""What the suspicion of a line is multiplied with where it is the innermost frame of a failure, the one around it, the one around that."""
AT_IMPORT = 0.4
"""What runs at import is executed before any test: it is as suspicious as the functions that use it, times this."""
ELSEWHERE = 0.7
"""And times this where these functions are in another file."""
TABLE = 16
"""Lines from which on a table shares its suspicion: who reads it reads one of its rows."""
REFUSED, HEADER = re.compile(r"\b(\w+)\(\) (?:takes|got|missing)"), 0.9
"""How a failure names a function that was given other things than it takes, and what part of the highest suspicion falls on its header."""
MIXED_UP = 0.25
"""Of the highest suspicion falls on lines with signs of names mixed up."""
COMPARING = 0.6
"""A method that says whether values are equal, or which is less, is suspected less: assertions call it whatever they are about."""
COMPARISONS = frozenset(f"__{name}__" for name in ("eq", "ne", "lt", "le", "gt", "ge", "hash", "bool"))
Scores = Mapping[str, Mapping[int, float]]
"""Suspicion by path and line; only lines that a failing test executes."""


def ochiai(traces: Sequence[Trace]) -> dict[str, dict[int, float]]:
    """The suspicion of each line that a failing test executes, 0 to 1; skipped tests count for nothing."""
    failing: Counter[tuple[str, int]] = Counter()
    passing: Counter[tuple[str, int]] = Counter()
    for trace in traces:
        counted = failing if trace.result.red else passing if trace.result.green else None
        if counted is not None:
            counted.update((path, line) for path, lines in trace.lines.items() for line in lines)
    reds = sum(trace.result.red for trace in traces)
    scores: dict[str, dict[int, float]] = {}
    for (path, line), count in failing.items():
        scores.setdefault(path, {})[line] = count / math.sqrt(reds * (count + passing[path, line]))
    return scores


def weighted(scores: Scores, failures: Sequence[Failure]) -> dict[str, dict[int, float]]:
    """The same with the innermost frames of the failures raised; where a test did not end these are a matter of chance."""
    raised = {path: dict(lines) for path, lines in scores.items()}
    for failure in (item for item in failures if item.type != ENDLESS):
        inside = [frame for frame in failure.frames if frame.path in scores and not is_test_path(frame.path)]
        for frame, factor in zip(reversed(inside), INNERMOST, strict=False):
            lines = raised[frame.path]
            if frame.line in lines:
                lines[frame.line] = max(lines[frame.line], scores[frame.path][frame.line] * factor)
    return raised


def without_comparisons(scores: Scores, sources: Mapping[str, Source]) -> dict[str, dict[int, float]]:
    """The same with the methods by which assertions compare lowered, where something else was executed as well."""
    lowered = {path: dict(lines) for path, lines in scores.items()}
    for path, source in sources.items():
        for function in source.functions if path in lowered else ():
            if function.name in COMPARISONS:
                inside = range(function.lineno, (function.end_lineno or function.lineno) + 1)
                lowered[path] |= {
                    line: lowered[path][line] * COMPARING for line in inside if line in lowered[path]
                }
    return lowered


def with_refused(
    scores: Scores, sources: Mapping[str, Source], failures: Sequence[Failure]
) -> dict[str, dict[int, float]]:
    """The same with the headers of functions raised that failures say cannot be called so: nothing in these was executed."""
    highest = max((score for lines in scores.values() for score in lines.values()), default=1.0)
    refused = {
        name
        for failure in failures
        if failure.type == "TypeError"
        for name in REFUSED.findall(failure.message)
    }
    raised = {path: dict(lines) for path, lines in scores.items()}
    for path, source in sources.items():
        for function in source.functions if refused else ():
            if function.name in refused:
                lines = raised.setdefault(path, {})
                lines[function.lineno] = max(lines.get(function.lineno, 0.0), highest * HEADER)
    return raised


def with_demanded(
    scores: Scores, sources: Mapping[str, Source], failures: Sequence[Failure]
) -> dict[str, dict[int, float]]:
    """The same with the definitions raised whose names are like what tests ask for and do not find: these are not executed by name."""
    highest = max((score for lines in scores.values() for score in lines.values()), default=1.0)
    raised = {path: dict(lines) for path, lines in scores.items()}
    for asked in asked_for(failures):
        for path, source in sources.items():
            for node in source.top_level:
                if any(likeness(name, asked) >= LEAST_ALIKE for name in defined(node)):
                    lines = raised.setdefault(path, {})
                    lines[node.lineno] = max(lines.get(node.lineno, 0.0), highest * HEADER)
    return raised


def with_imports(
    scores: Scores,
    sources: Mapping[str, Source],
    imported: Mapping[str, Collection[int]],
    asked: Collection[str] = (),
) -> dict[str, dict[int, float]]:
    """The same, and what ran at import (lines `imported`) for what suspicious functions, or failing tests (`asked`), know by its name."""
    used = {path: _names_read(scores.get(path, {}), source) for path, source in sources.items()}
    highest = max((score for lines in scores.values() for score in lines.values()), default=1.0)
    anywhere = dict.fromkeys(asked, highest * ELSEWHERE)
    for names in used.values():
        anywhere |= {name: max(score * ELSEWHERE, anywhere.get(name, 0.0)) for name, score in names.items()}
    found = {}
    for path, source in sources.items():
        names = {name: max(score, used[path].get(name, 0.0)) for name, score in anywhere.items()}
        told = {name: highest * ELSEWHERE for name in asked}
        found[path] = _of_import(scores.get(path, {}), source, names, imported.get(path, ()), told)
    return found


def _of_import(
    scores: Mapping[int, float],
    source: Source,
    used: Mapping[str, float],
    imported: Collection[int],
    asked: Mapping[str, float],
) -> dict[int, float]:
    found = dict(scores)
    own = {function: score_of(function, scores) for function in source.functions}
    of_class: dict[ast.ClassDef | None, float] = {}
    calling: dict[str, float] = {}
    for function, score in own.items():
        wanted = max(score, asked.get(function.name, 0.0))
        found[function.lineno] = max(found.get(function.lineno, 0.0), wanted * AT_IMPORT)
        calling |= {name: max(wanted, calling.get(name, 0.0)) for name in _decorating(function)}
        owner = source.class_of(function)
        of_class[owner] = max(of_class.get(owner, 0.0), score) if owner else 0.0
    for statement in _at_import(source):
        lines = range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)
        suspicion = _most(used, stored(statement))
        _raise(found, lines, suspicion * min(1.0, math.sqrt(TABLE / len(lines))))
        called = {
            node.func.id
            for node in ast.walk(statement)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        }
        calling |= {name: max(suspicion, calling.get(name, 0.0)) for name in called}
    for function, score in own.items():
        inside = [line for line in imported if function.body[0].lineno <= line <= (function.end_lineno or 0)]
        if inside and not score:
            shared = _most(used, _shared(source, function))
            _raise(
                found,
                inside,
                max(shared, of_class[source.class_of(function)], calling.get(function.name, 0.0)),
            )
    return {line: score for line, score in found.items() if score}


def _decorating(function: Function) -> frozenset[str]:
    """The names of a function's decorators."""
    called = (item.func if isinstance(item, ast.Call) else item for item in function.decorator_list)
    return frozenset(item.id for item in called if isinstance(item, ast.Name))


def _shared(source: Source, function: Function) -> frozenset[str]:
    """Names that a function uses and that are not its own: by them it may reach what others use."""
    names = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
    told = {name for node in ast.walk(function) if isinstance(node, ast.Global) for name in node.names}
    return frozenset(names - BUILTIN - (bound(source, function) - told))


def _raise(found: dict[int, float], lines: Collection[int], suspicion: float) -> None:
    """Make what runs at import as suspicious as what uses it allows."""
    found |= {line: max(found.get(line, 0.0), AT_IMPORT * suspicion) for line in lines}


def _most(used: Mapping[str, float], names: Iterable[str]) -> float:
    return max((used.get(name, 0.0) for name in names), default=0.0)


def _names_read(scores: Mapping[int, float], source: Source) -> dict[str, float]:
    """The names that the functions of one file use, with the suspicion of the most suspicious of these."""
    used: dict[str, float] = {}
    for function in source.functions:
        score = score_of(function, scores)
        for node in ast.walk(function) if score else ():
            name = (
                node.id
                if isinstance(node, ast.Name)
                else node.attr
                if isinstance(node, ast.Attribute)
                else ""
            )
            used[name] = max(used.get(name, 0.0), score)
    return used


def with_bodies(scores: Scores, sources: Mapping[str, Source]) -> dict[str, dict[int, float]]:
    """The same with what classes hold raised where making a class failed: what makes it looks at all that."""
    raised = {path: dict(lines) for path, lines in scores.items()}
    for path, source in sources.items():
        lines = raised.get(path, {})
        for node in (item for item in ast.walk(source.tree) if isinstance(item, ast.ClassDef)):
            score = max((lines.get(line, 0.0) for line in header(node)), default=0.0)
            inside = [line for statement in node.body for line in header(statement)] if score else []
            lines |= {line: max(lines.get(line, 0.0), score * HEADER) for line in inside}
    return raised


def with_mixed_up(scores: Scores, sources: Mapping[str, Source]) -> dict[str, dict[int, float]]:
    """The same with executed lines raised where names may have been mixed up, though all tests execute them."""
    least = MIXED_UP * max((score for lines in scores.values() for score in lines.values()), default=0.0)
    raised = {path: dict(lines) for path, lines in scores.items()}
    for path, source in sources.items():
        for function in source.functions if raised.get(path) else ():
            raised[path] |= {
                line: max(least, score) for line in _mixed_up(function) if (score := raised[path].get(line))
            }
    return raised


def _mixed_up(function: Function) -> Iterable[int]:
    """All lines where a parameter is not read; else those where the parameter `a` is not given for another's, but `a=b`."""
    if idle(function):
        return range(function.body[0].lineno, (function.end_lineno or 0) + 1)
    names = {*arguments_of(function)}
    return [
        node.value.lineno
        for node in ast.walk(function)
        if isinstance(node, ast.keyword)
        and isinstance(node.value, ast.Name)
        and node.arg in names - {node.value.id}
    ]


def score_of(function: Function, scores: Mapping[int, float]) -> float:
    """The highest suspicion in a function, its header left out: that is executed by defining it."""
    return max(
        (scores.get(line, 0.0) for line in range(function.body[0].lineno, (function.end_lineno or 0) + 1)),
        default=0.0,
    )


def suspects(scores: Scores, sources: Mapping[str, Source]) -> tuple[Suspect, ...]:
    """Functions by descending suspicion: of their most suspicious line, then of their lines on average, then the shorter first."""
    ranked = []
    for path, source in sources.items():
        lines_of: dict[str, dict[int, float]] = {}
        for line, score in scores.get(path, {}).items():
            function = source.function_at(line)
            place = source.place(function) if function else f"{path}:{line}"
            lines_of.setdefault(place, {})[line] = score
        for place, lines in lines_of.items():
            worst = min(lines, key=lambda line: (-lines[line], line))
            average = sum(lines.values()) / len(lines)
            suspect = Suspect(place=place, line=worst, score=min(1.0, lines[worst]))
            ranked.append(((-lines[worst], -average, len(lines), place), suspect))
    return tuple(suspect for _, suspect in sorted(ranked, key=lambda pair: pair[0]))


def _at_import(source: Source) -> list[ast.stmt]:
    """Assignments at the top level of the module and of its classes."""
    return [node for node in source.top_level if isinstance(node, ast.Assign | ast.AnnAssign)]
