from coder.settings import Config
from coder.verify.verdict.runs import WHOLE, SuiteLimits
from coder.wiring.bench import suite_limits


def test_how_much_of_the_suite_is_run_follows_the_settings() -> None:
    assert suite_limits(Config(), {}) == SuiteLimits(whole_seconds=60, impacted_seconds=120)
    assert suite_limits(Config(suite="impacted"), {}).only_impacted
    assert suite_limits(Config(suite="whole"), {}) == WHOLE


def test_in_ci_the_whole_suite_has_all_of_its_time() -> None:
    assert suite_limits(Config(), {"CI": "true"}).whole_seconds == Config().suite_seconds
