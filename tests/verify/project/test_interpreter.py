from pathlib import Path

from coder.verify.project import editable_roots, meson_build_directories
from tests.builders import write


def test_finds_build_directory_of_editable_meson_installation(tmp_path: Path) -> None:
    build = tmp_path / "checkout" / "build" / "cp311"
    (build / "meson-info").mkdir(parents=True)
    loader = f"install('pkg', {{'pkg'}}, '{build}', ['/usr/bin/ninja'], False)\n"
    write(tmp_path / "venv", {"lib/python3.11/site-packages/_pkg_editable_loader.py": loader})
    assert meson_build_directories(tmp_path / "venv") == [str(build)]
    assert meson_build_directories(tmp_path / "checkout") == []


def test_finds_source_roots_of_editable_installations(tmp_path: Path) -> None:
    root = tmp_path / "checkout"
    names = ("path", "finder", "hatch")
    write(root, {f"libs/deep/down/{name}/src/pkg/__init__.py": "" for name in names})
    sources = {name: f"{root}/libs/deep/down/{name}/src" for name in names}
    hooks = {
        "a.pth": f"import os\n{sources['path']}\n/usr/lib\n{root}/gone\n",
        "__editable___finder_1_finder.py": f"MAPPING = {{'pkg': '{sources['finder']}/pkg'}}\n",
        "_editable_impl_hatch.py": f"F.map_module('pkg', '{sources['hatch']}/pkg/__init__.py')\n",
        "other.py": f"'{root}/libs'\n",
    }
    write(tmp_path / "venv" / "lib" / "python3.11" / "site-packages", hooks)
    found = editable_roots(tmp_path / "venv", root)
    assert sorted(found) == sorted(f"libs/deep/down/{name}/src" for name in names)
