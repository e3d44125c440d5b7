"""Links what a wheel declares to need, and nothing else, from this environment into another.

    python scripts/link_dependencies.py WHEEL SITE_PACKAGES

The versions are those that are locked and installed here, so that nothing is fetched or unpacked.
What the other environment has already stays as it is.
"""

from __future__ import annotations

import sys
import zipfile
from collections.abc import Iterator
from importlib.metadata import Distribution, PathDistribution, distribution, distributions
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name


def inside(wheel: Path) -> Distribution:
    """What a wheel says about itself."""
    name, version = wheel.name.split("-")[:2]
    return PathDistribution(zipfile.Path(wheel, f"{name}-{version}.dist-info/"))


def declared(package: Distribution, extra: str) -> Iterator[tuple[str, str]]:
    """What a package needs for an extra, or by itself: names, with the extras these are to have."""
    for line in package.requires or ():
        requirement = Requirement(line)
        if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
            for wanted in ("", *requirement.extras):
                yield canonicalize_name(requirement.name), wanted


def needed(package: Distribution) -> dict[str, Distribution]:
    """What a package needs, and what that needs in turn."""
    found: dict[str, Distribution] = {}
    waiting = [*declared(package, "")]
    seen: set[tuple[str, str]] = set()
    while waiting:
        name, extra = one = waiting.pop()
        if one not in seen:
            seen.add(one)
            found[name] = distribution(name)
            waiting += declared(found[name], extra)
    return found


def link(package: Distribution, place: Path) -> None:
    """Link the files of a package, one by one: several packages may share a folder."""
    for file in package.files or ():
        if ".." not in file.parts:  # else it is a program, which no import needs
            (place / file).parent.mkdir(parents=True, exist_ok=True)
            (place / file).symlink_to(Path(str(package.locate_file(file))).resolve())


if __name__ == "__main__":
    present = {canonicalize_name(package.name) for package in distributions(path=[sys.argv[2]])}
    for name, package in needed(inside(Path(sys.argv[1]))).items():
        if name not in present:
            link(package, Path(sys.argv[2]))
