"""Values of --on."""

import pytest

from coder.core.errors import UserError
from coder.executors.local import open_executor


@pytest.mark.parametrize(("place", "label"), [("local:3", "3 processes"), ("local:1", "1 process")])
def test_local_place_names_its_processes(place: str, label: str) -> None:
    assert open_executor(place).label == label


@pytest.mark.parametrize("place", ["local:0", "local:x", "cloud", "ray:1"])
def test_refuses_other_places(place: str) -> None:
    with pytest.raises(UserError, match="local"):
        open_executor(place)
