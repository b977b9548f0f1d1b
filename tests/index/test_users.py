from pathlib import Path

from coder.index.index import SymbolIndex, find_uses
from coder.index.snapshot import IndexedPlace
from tests.builders import write_tree


def test_variable_that_holds_an_import_hides_no_use(tmp_path: Path) -> None:
    write_tree(
        tmp_path,
        {
            "text.js": "function parse(text) { return text }\nexports.parse = parse\n",
            "app.js": "var parse = require('./text').parse\n\nparse('a')\n",
            "other.js": "var parse = function () {}\n\nparse('a')\n",
        },
    )
    snapshot = SymbolIndex(tmp_path).refresh()
    definition = next(item for item in snapshot.definitions("text.js") if item.name == "parse")
    uses = find_uses(snapshot, [IndexedPlace(path="text.js", definition=definition)])
    assert {use.path for use in uses} == {"app.js", "text.js"}
