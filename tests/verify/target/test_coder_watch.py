"""Paths of code that is loaded by another name than its own."""

import importlib.util
from pathlib import Path

from coder.verify.launch import TARGET


def test_paths_follow_links_and_dots(tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("watch", TARGET / "coder_watch.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    tree = tmp_path / "tree"
    (tree / "src").mkdir(parents=True)
    (tree / "src" / "cart.py").touch()
    (tree / "lib").symlink_to("src")
    (tree / "alias.py").symlink_to("src/cart.py")
    names = ("src/cart.py", "lib/cart.py", "tests/../src/cart.py", "alias.py", "../cart.py", "src/other.py")
    (tree / "tests").mkdir()
    paths = module.RelativePaths(str(tree), {"src/cart.py"})
    found = [paths[f"{tree}/{name}"] for name in names]
    assert found == ["src/cart.py"] * 4 + ["", ""]
    assert paths["<string>"] == ""
