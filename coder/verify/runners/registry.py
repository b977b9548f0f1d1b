"""All adapters, and the recognition of test commands by them."""

from collections.abc import Mapping
from pathlib import Path

from coder.core.values.base import Value
from coder.verify.runners.adapter import Adapter
from coder.verify.runners.cargo_test import CargoTest
from coder.verify.runners.go_test import GoTest
from coder.verify.runners.mocha import Mocha
from coder.verify.runners.node_packages import find_programs, read_scripts, split_launchers
from coder.verify.runners.node_test import NodeTest
from coder.verify.runners.rspec import RSpec
from coder.verify.runners.vitest_jest import Jest, Vitest
from coder.verify.runners.xml_reports.ctest import CTest
from coder.verify.runners.xml_reports.dotnet import DotnetTest
from coder.verify.runners.xml_reports.java_builds import Gradle, Maven
from coder.verify.runners.xml_reports.phpunit import PHPUnit

ADAPTERS: tuple[Adapter, ...] = (
    *(Vitest(), Jest(), Mocha(), NodeTest()),
    *(GoTest(), CargoTest(), Maven(), Gradle(), CTest(), RSpec(), PHPUnit(), DotnetTest()),
)


class RecognizedCommand(Value):
    """A command that an adapter can run."""

    adapter: str
    """The adapter's name."""
    environment: Mapping[str, str]
    """Assignments before the command."""
    argv: tuple[str, ...]


def find_adapter(name: str) -> Adapter | None:
    """Return the adapter of this name."""
    return next((adapter for adapter in ADAPTERS if adapter.name == name), None)


def recognize_command(text: str, root: Path) -> RecognizedCommand | None:
    """Return the one test runner that a command of a shell starts, also through a script of its package."""
    found = []
    for words in find_programs(text, read_scripts(root)):
        environment, argv = split_launchers(words)
        if adapter := next((adapter for adapter in ADAPTERS if adapter.recognizes(argv)), None):
            found.append(RecognizedCommand(adapter=adapter.name, environment=environment, argv=argv))
    return found[0] if len(found) == 1 else None
