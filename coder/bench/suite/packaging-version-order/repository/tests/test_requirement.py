from paketo.requirement import Requirement
from paketo.version import Version


def test_all_clauses_count():
    requirement = Requirement("My_Thing >= 1.2, < 2")
    assert requirement.name == "my-thing"
    assert requirement.allows(Version("1.5"))
    assert not requirement.allows(Version("2.0"))
