from coder.settings import Config
from coder.verify.verdict.runs import WHOLE, SuiteLimits
from coder.wiring.bench import suite_limits


def test_suite_scope_follows_settings() -> None:
    assert suite_limits(Config(), {}) == SuiteLimits(whole_seconds=60, impacted_seconds=120)
    assert suite_limits(Config(suite="impacted"), {}).only_impacted
    assert suite_limits(Config(suite="whole"), {}) == WHOLE


def test_ci_gives_whole_suite_full_time() -> None:
    assert suite_limits(Config(), {"CI": "true"}).whole_seconds == Config().suite_seconds
