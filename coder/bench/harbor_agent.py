"""Agent for Terminal-Bench's harness: `harbor run --agent coder.bench.harbor_agent:HarborAgent`.

Older releases of harbor (package `harbor`, Python 3.12 or later) call that option `--agent-import-path`. The
class installs coder into the task's container and runs `coder do` there, in the container's own directory.
"""

import os
import shlex
from typing import TYPE_CHECKING, Any

from harbor.agents.installed.base import BaseInstalledAgent, with_prompt_template

from coder import __version__

if TYPE_CHECKING:
    from harbor.environments.base import BaseEnvironment
    from harbor.models.agent.context import AgentContext

PREFIX = "/opt/coder"
LOG = "/logs/agent/coder.jsonl"
PASSED = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY", "CODER_BASE_URL")
"""Variables of this machine that the container gets."""


class HarborAgent(BaseInstalledAgent):  # type: ignore[misc]  # harbor is not installed beside coder
    """Runs coder in the container of a task."""

    @staticmethod
    def name() -> str:
        return "coder"

    def version(self) -> str:
        return __version__

    def get_version_command(self) -> str:
        return f"{PREFIX}/bin/coder --version"

    async def install(self, environment: "BaseEnvironment") -> None:
        """Install coder in an environment of its own; CODER_PACKAGE may name another package or a wheel."""
        package = os.environ.get("CODER_PACKAGE", f"coder-proof=={__version__}")
        await self.ensure_system_dependencies(environment, ("git",))
        steps = (
            "command -v python3 >/dev/null || (apt-get update && apt-get install -y python3-venv)",
            f"python3 -m venv {PREFIX}",
            f"{PREFIX}/bin/pip install -q {shlex.quote(package)}",
        )
        await self.exec_as_root(environment, command=" && ".join(f"({step})" for step in steps))

    @with_prompt_template  # type: ignore[untyped-decorator]
    async def run(
        self,
        instruction: str,
        environment: "BaseEnvironment",
        context: "AgentContext",  # noqa: ARG002 - the base class gives it
    ) -> None:
        """Work on the instruction and apply what is delivered; the container is the sandbox."""
        model = (self.model_name or "").replace("/", ":", 1)
        command = [f"{PREFIX}/bin/coder", "do", instruction, "--json", "--trust", "--unsafe-no-sandbox"]
        command += ["--approve", "full", *(["--model", model] if model else [])]
        variables = {name: os.environ[name] for name in PASSED if name in os.environ}
        begin = "git rev-parse --git-dir >/dev/null 2>&1 || (git init -q && git add -A"
        commit = "git -c user.name=coder -c user.email=coder@localhost commit -q --allow-empty -m Begin)"
        apply = f"{PREFIX}/bin/coder apply last --yes"
        await self.exec_as_agent(
            environment,
            command=f"{begin} && {commit}; {shlex.join(command)} | tee {LOG}; {apply}",
            env=variables,
        )

    def populate_context_post_run(self, context: "AgentContext") -> None:
        """Fill in tokens and cost from the last event of the log."""
        from coder.core.messages import UsageTotals

        file = self.logs_dir / "coder.jsonl"
        lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
        spent = next((found for line in reversed(lines) if (found := _read_spent(line))), None)
        totals = UsageTotals.model_validate(spent or {})
        context.n_input_tokens, context.n_output_tokens = totals.input_tokens, totals.output_tokens
        context.n_cache_tokens = totals.cached_tokens
        context.cost_usd = None if totals.cost_usd is None else float(totals.cost_usd)


def _read_spent(line: str) -> dict[str, Any] | None:
    """Return the spending that a line of `coder --json` names."""
    import json

    try:
        event = json.loads(line).get("event", {})
    except (ValueError, AttributeError):
        return None
    spent = event.get("spent") if event.get("type") == "session_finished" else None
    return spent if isinstance(spent, dict) else None
