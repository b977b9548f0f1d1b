"""Packages that the components import: found, asked for one by one, installed."""

import asyncio

from coder.core.notes import Plan
from coder.core.values.candidate import Candidate
from coder.core.values.paths import is_test_path
from coder.files.regular_files import read_regular_text
from coder.python.imports import module_of_path, third_party_modules
from coder.session.approval.dependencies import offer_packages
from coder.session.context import SessionContext


async def provide_packages(context: SessionContext, candidate: Candidate, plan: Plan) -> tuple[str, ...]:
    """Offer to install what the components import and the project's interpreter lacks.

    Return the distributions that the code imports, those that only its tests import left out.
    """
    if context.installer is None:
        return ()
    tree = candidate.worktree
    own = {path.stem for root in (tree, tree / "src", tree / "tests") for path in root.glob("*")}
    own |= {module_of_path(path).partition(".")[0] for part in plan.components for path in part.files}
    texts = {
        path: read_regular_text(tree / path, within=tree) for part in plan.components for path in part.files
    }
    modules = third_party_modules(texts.items(), own)
    distributions = await asyncio.to_thread(context.installer.find_distributions, modules)
    lacking = {
        distributions[module].name: module for module in modules if not distributions[module].is_installed
    }
    await offer_packages(context, lacking)
    code = [(path, text) for path, text in texts.items() if not is_test_path(path)]
    return tuple(dict.fromkeys(distributions[module].name for module in third_party_modules(code, own)))
