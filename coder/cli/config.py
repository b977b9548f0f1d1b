"""`coder config`: the effective configuration and where each value came from."""

from pathlib import Path

from coder.cli.options import RepositoryOption


def config(repo: RepositoryOption = Path()) -> None:
    """Show the effective configuration and where each value came from."""
    from coder.core.errors import UserError
    from coder.directories import config_directory
    from coder.repo.git import find_checkout
    from coder.settings import collect_settings

    try:
        root = find_checkout(repo).root
    except UserError:
        root = None
    for setting in collect_settings(root):
        value = (
            ", ".join(setting.value)
            if isinstance(setting.value, tuple)
            else ""
            if setting.value is None
            else str(setting.value)
        )
        print(f"{setting.name:<14} {value:<28} {setting.source}")
    print(
        f"\nYour own settings go into {config_directory() / 'config.toml'}; a repository's into [tool.coder] "
        "of its pyproject.toml, or into coder.toml."
    )
