"""Facts extracted for each language with a grammar: names, kinds, lines, imports, bases, uses."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from coder.index.parsers import FileFacts, definitions, parse_facts

SOURCES = sorted((Path(__file__).parents[1] / "cases" / "languages").glob("[Bb]ox.*"))
SOURCES = [path for path in SOURCES if path.suffix != ".txt"]


def describe(facts: FileFacts) -> Iterator[str]:
    for name, kind, start, _, end, signature, summary, _ in facts.definitions:
        yield f"{name} {kind} {start}-{end}: {signature}" + f" # {summary}" * bool(summary)
    for module in sorted({entry.module for entry in facts.imports}):
        names = sorted({entry.name or "*" for entry in facts.imports if entry.module == module})
        yield f"import {module}: {' '.join(names)}"
    for name, bases in facts.bases.items():
        if bases:
            yield f"bases {name}: {' '.join(bases)}"
    if lines := facts.uses.get("helper"):
        yield f"use helper: {' '.join(map(str, lines))}"


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_facts_of_a_language(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    facts = parse_facts(path.name, text)
    expected = path.with_name(f"{path.name}.txt").read_text(encoding="utf-8")
    assert "".join(f"{line}\n" for line in describe(facts)) == expected
    assert definitions(path.name, text) == facts.definitions
    assert not {"return", "class", "Holds", "Counts"} & set(facts.uses)


@pytest.mark.parametrize(
    "path", ["a.js", "a.ts", "a.go", "a.rs", "a.java", "a.c", "a.cpp", "a.rb", "a.php", "a.kt"]
)
def test_broken_code_is_read_without_an_error(path: str) -> None:
    for text in ("", "\0", "class {{{ ]] (", "\ud800", "function f( { 'x\n" * 50):
        parse_facts(path, text)


def test_reads_language_without_grammar_by_lines() -> None:
    facts = parse_facts(
        "a.kt", "class Box {\n    fun other() {}\n    fun size(): Int {\n        return 1 // size\n    }\n}\n"
    )
    assert [(definition.name, definition.line, definition.end) for definition in facts.definitions] == [
        ("Box", 1, 7)
    ]
    assert facts.uses["size"] == [3]


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("export default function send(a) { return a; }", "send"),
        ("export default isNode && function send(a) { return a; }", "send"),
        ("export default isNode && (async (a) => a);", "default"),
        ("export default (a) => a;", "default"),
    ],
)
def test_default_export_is_function(source: str, name: str) -> None:
    for path in ("a.js", "a.ts"):
        assert [(item.name, item.kind) for item in definitions(path, source)] == [(name, "function")]
