"""Values of --on."""

import pytest

from coder.core.errors import UserError
from coder.executors.local import open_executor


@pytest.mark.parametrize("place", ["local:0", "local:x", "cloud", "ray:1"])
def test_refuses_other_places(place: str) -> None:
    with pytest.raises(UserError, match="local"):
        open_executor(place)
