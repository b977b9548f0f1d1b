"""What an index offers."""

from paketo.requirement import Requirement
from paketo.version import Version


def newest(offered, *, prereleases=False):
    """The greatest version of those offered, as text; None where there is none."""
    versions = [Version(text) for text in offered]
    versions = [version for version in versions if prereleases or not version.is_prerelease]
    return str(max(versions)) if versions else None


def upgrades(installed, offered, requirement):
    """Offered versions that are newer than the installed one and allowed, oldest first."""
    allowed = Requirement(requirement)
    current = Version(installed)
    found = sorted(version for version in map(Version, offered) if version > current and allowed.allows(version))
    return [str(version) for version in found]
