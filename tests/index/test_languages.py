"""Facts extracted for each language with a grammar: names, kinds, lines, imports, bases, uses."""

import pytest

from coder.index.parsers import parse_definitions, parse_facts

JAVASCRIPT = """\
import shelf, { Item as Thing } from './shelf';
// Holds things.
export class Box extends React.Component {
  static limit = 3;
  size(deep) { const local = `n: ${deep}`; return helper(local); }
}
export const make = (count) => new Box(count), LIMIT = 3;
Box.prototype.clear = function () {};
const fs = require("fs");
export { pack } from "./pack";
"""
TYPESCRIPT = """\
interface Sized extends Base { size(): number; label: string }
type Count = number;
enum Kind { Small }
namespace shop { export function open(): void {} }
/**
 * Holds things.
 * More.
 */
export abstract class Box<T> extends Shelf<T> implements Sized {
  private count = 1;
  abstract clear(): void;
  size(): number { return this.count; }
}
export const make = <T,>(item: T): Box<T> => new Real(item);
"""
GO = """\
package shop

import (
\t"fmt"
\tother "shop/other"
)

type Box struct {
\tShelf
\tcount int
}

type Sized interface{ Size() int }

const Limit = 3

// Size counts.
func (b *Box) Size() int { local := "Size"; return fmt.Len(local) }

func Make[T any](item T) *Box { return nil }
"""
RUST = """\
use std::{io, fmt as format};
pub use crate::shelf::Shelf;
pub struct Box<T> { count: u32 }
enum Kind { Small }
trait Sized: Base { fn size(&self) -> u32; }
impl<T> Sized for Box<T> {
    /// Counts.
    fn size(&self) -> u32 { helper("size") }
}
const LIMIT: u32 = 3;
mod inner { pub fn open() {} }
macro_rules! pack { () => {} }
"""
JAVA = """\
import java.util.List;
/** Holds things. */
public class Box<T> extends Shelf<T> implements Sized {
    int count = 1;
    Box() {}
    @Override
    public int size() { int local = helper("size"); return local; }
    interface Part { void open(); }
    enum Kind { SMALL }
}
"""
C = """\
#include "shelf.h"
#define LIMIT 3
struct box { int count; };
typedef struct box box_t;
enum kind { SMALL };
/* Counts. */
static int *size(struct box *box) { int local = 1; return helper("size"); }
int clear(struct box *box);
"""
CPP = """\
#include <shelf>
namespace shop {
class Box : public Shelf, private other::Part<int> {
 public:
  Box();
  int size() const { return helper("size"); }
};
template <typename T> T& pick(T item) { return item; }
}
int shop::Box::far() { return 1; }
"""
RUBY = """\
require "shelf"
module Shop
  class Box < Base::Shelf
    LIMIT = 3
    # Counts.
    def size(deep) = helper("size #{deep}")
    def self.make; end
  end
end
"""
PHP = """\
<?php
interface Sized {}
final class Box extends Shelf implements Sized
{
    const LIMIT = 3;
    private int $count = 0;
    /** Counts. */
    public function size(bool $deep): int { return helper("size $deep"); }
}
function make() { $local = 1; }
"""
DEFINED = {
    ("box.php", PHP): [
        ("Sized", "interface", 2, 2),
        ("Box", "class", 3, 9),
        ("Box.LIMIT", "variable", 5, 5),
        ("Box.count", "variable", 6, 6),
        ("Box.size", "method", 8, 8),
        ("make", "function", 10, 10),
    ],
    ("box.js", JAVASCRIPT): [
        ("Box", "class", 3, 6),
        ("Box.limit", "variable", 4, 4),
        ("Box.size", "method", 5, 5),
        ("make", "function", 7, 7),
        ("LIMIT", "variable", 7, 7),
        ("clear", "function", 8, 8),
        ("fs", "variable", 9, 9),
    ],
    ("box.tsx", TYPESCRIPT): [
        ("Sized", "interface", 1, 1),
        ("Sized.size", "method", 1, 1),
        ("Sized.label", "variable", 1, 1),
        ("Count", "type", 2, 2),
        ("Kind", "enum", 3, 3),
        ("shop", "module", 4, 4),
        ("shop.open", "function", 4, 4),
        ("Box", "class", 9, 13),
        ("Box.count", "variable", 10, 10),
        ("Box.clear", "method", 11, 11),
        ("Box.size", "method", 12, 12),
        ("make", "function", 14, 14),
    ],
    ("box.go", GO): [
        ("Box", "struct", 8, 11),
        ("Sized", "interface", 13, 13),
        ("Sized.Size", "method", 13, 13),
        ("Limit", "variable", 15, 15),
        ("Box.Size", "method", 18, 18),
        ("Make", "function", 20, 20),
    ],
    ("box.rs", RUST): [
        ("Box", "struct", 3, 3),
        ("Kind", "enum", 4, 4),
        ("Sized", "trait", 5, 5),
        ("Sized.size", "method", 5, 5),
        ("Box.size", "method", 8, 8),
        ("LIMIT", "variable", 10, 10),
        ("inner", "module", 11, 11),
        ("inner.open", "function", 11, 11),
        ("pack", "macro", 12, 12),
    ],
    ("Box.java", JAVA): [
        ("Box", "class", 3, 10),
        ("Box.count", "variable", 4, 4),
        ("Box.Box", "method", 5, 5),
        ("Box.size", "method", 6, 7),
        ("Box.Part", "interface", 8, 8),
        ("Box.Part.open", "method", 8, 8),
        ("Box.Kind", "enum", 9, 9),
    ],
    ("box.c", C): [
        ("LIMIT", "macro", 2, 2),
        ("box", "struct", 3, 3),
        ("box_t", "type", 4, 4),
        ("kind", "enum", 5, 5),
        ("size", "function", 7, 7),
        ("clear", "prototype", 8, 8),
    ],
    ("box.cpp", CPP): [
        ("shop", "module", 2, 9),
        ("shop.Box", "class", 3, 7),
        ("shop.Box.Box", "prototype", 5, 5),
        ("shop.Box.size", "method", 6, 6),
        ("shop.pick", "function", 8, 8),
        ("shop.Box.far", "method", 10, 10),
    ],
    ("box.rb", RUBY): [
        ("Shop", "module", 2, 9),
        ("Shop.Box", "class", 3, 8),
        ("Shop.Box.LIMIT", "variable", 4, 4),
        ("Shop.Box.size", "method", 6, 6),
        ("Shop.Box.make", "method", 7, 7),
    ],
}
TEXTS = dict(DEFINED)


@pytest.mark.parametrize(
    ("file", "expected"), DEFINED.items(), ids=lambda value: value[0] if isinstance(value, tuple) else ""
)
def test_definitions_have_owners_kinds_and_lines(
    file: tuple[str, str], expected: list[tuple[str, str, int, int]]
) -> None:
    definitions = parse_facts(*file).definitions
    assert parse_definitions(*file) == definitions
    assert [
        (definition.name, definition.kind, definition.start, definition.end) for definition in definitions
    ] == expected


@pytest.mark.parametrize(
    ("path", "text", "name", "signature", "summary"),
    [
        ("a.js", JAVASCRIPT, "Box", "export class Box extends React.Component", "Holds things."),
        (
            "a.ts",
            TYPESCRIPT,
            "Box",
            "export abstract class Box<T> extends Shelf<T> implements Sized",
            "Holds things.",
        ),
        ("a.go", GO, "Box.Size", "func (b *Box) Size() int", "Size counts."),
        ("a.rs", RUST, "Box.size", "fn size(&self) -> u32", "Counts."),
        ("A.java", JAVA, "Box.size", "@Override public int size()", ""),
        ("a.c", C, "size", "static int *size(struct box *box)", "Counts."),
        ("a.cpp", CPP, "shop.pick", "template <typename T> T& pick(T item)", ""),
        ("a.rb", RUBY, "Shop.Box.size", "def size(deep)", "Counts."),
        ("a.php", PHP, "Box.size", "public function size(bool $deep): int", "Counts."),
    ],
)
def test_signature_and_comment_of_a_definition(
    path: str, text: str, name: str, signature: str, summary: str
) -> None:
    definition = next(
        definition for definition in parse_facts(path, text).definitions if definition.name == name
    )
    assert (definition.signature, definition.summary) == (signature, summary)


@pytest.mark.parametrize(
    ("path", "text", "imports", "bases"),
    [
        (
            "a.js",
            JAVASCRIPT,
            {"./shelf": {"shelf", "Item"}, "fs": {""}, "./pack": {"pack"}},
            {"Box": ("React.Component",)},
        ),
        ("a.ts", TYPESCRIPT, {}, {"Sized": ("Base",), "Box": ("Shelf", "Sized")}),
        ("a.go", GO, {"fmt": {""}, "shop/other": {""}}, {"Box": ("Shelf",)}),
        (
            "a.rs",
            RUST,
            {"std": {"io", "fmt"}, "crate.shelf": {"Shelf"}},
            {"Sized": ("Base",), "Box": ("Sized",)},
        ),
        ("A.java", JAVA, {"java.util": {"List"}}, {"Box": ("Shelf", "Sized")}),
        ("a.c", C, {"shelf.h": {""}}, {}),
        ("a.cpp", CPP, {"shelf": {""}}, {"shop.Box": ("Shelf", "other.Part")}),
        ("a.rb", RUBY, {"shelf": {""}}, {"Shop.Box": ("Base.Shelf",)}),
        ("a.php", PHP, {}, {"Box": ("Shelf", "Sized")}),
    ],
)
def test_imports_and_bases(
    path: str, text: str, imports: dict[str, set[str]], bases: dict[str, tuple[str, ...]]
) -> None:
    facts = parse_facts(path, text)
    result: dict[str, set[str]] = {}
    for entry in facts.imports:
        result.setdefault(entry.module, set()).add(entry.name)
    assert result == imports
    assert {name: bases for name, bases in facts.bases.items() if bases} == bases


@pytest.mark.parametrize(
    ("path", "text", "line"),
    [
        ("a.js", JAVASCRIPT, 5),
        ("a.rs", RUST, 8),
        ("A.java", JAVA, 7),
        ("a.c", C, 7),
        ("a.cpp", CPP, 6),
        ("a.rb", RUBY, 6),
        ("a.php", PHP, 8),
    ],
)
def test_uses_exclude_strings_and_keywords(path: str, text: str, line: int) -> None:
    uses = parse_facts(path, text).uses
    assert uses["helper"] == [line]
    assert not {"return", "class", "Holds", "Counts"} & set(uses)


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
        assert [(item.name, item.kind) for item in parse_definitions(path, source)] == [(name, "function")]
