"""The public surface is what the committed snapshots say."""

import pytest

from tests.golden.update import GOLDEN, snapshots


@pytest.mark.parametrize("name", ["api.txt", "schemas.txt"])
def test_surface_is_the_committed_one(name: str) -> None:
    committed = (GOLDEN / name).read_text().splitlines()
    now = snapshots()[name].splitlines()
    gone, new = sorted(set(committed) - set(now)), sorted(set(now) - set(committed))
    assert committed == now, (
        f"{name}: gone {gone}, new {new}; if meant, run `python -m tests.golden.update`"
    )
