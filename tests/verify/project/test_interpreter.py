from pathlib import Path

from coder.verify.project.interpreter import meson_build_directories
from tests.builders import write


def test_finds_build_directory_of_editable_meson_installation(tmp_path: Path) -> None:
    build = tmp_path / "checkout" / "build" / "cp311"
    (build / "meson-info").mkdir(parents=True)
    loader = f"install('pkg', {{'pkg'}}, '{build}', ['/usr/bin/ninja'], False)\n"
    write(tmp_path / "venv", {"lib/python3.11/site-packages/_pkg_editable_loader.py": loader})
    assert meson_build_directories(tmp_path / "venv") == [str(build)]
    assert meson_build_directories(tmp_path / "checkout") == []
