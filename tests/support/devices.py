"""The devices on which operator tests run: every one of this machine that operators know.

    on_every_device = devices.fixture()      # at module level: the module's tests run once a device

Within such a module plain factories (`torch.full`, `cases.randn`) make tensors on that device.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import torch

NEEDS_CUDA = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU that torch can use")

# For tests that take the device as an argument: @pytest.mark.parametrize("device", DEVICES)
DEVICES = ["cpu", pytest.param("cuda", marks=NEEDS_CUDA)]


def _on_device(request: pytest.FixtureRequest) -> Iterator[str]:
    torch.set_default_device(request.param)
    yield request.param
    torch.set_default_device(None)


def fixture() -> Callable[..., Iterator[str]]:
    """An autouse fixture of module scope, named `device` where a test asks for it."""
    return pytest.fixture(_on_device, scope="module", autouse=True, params=DEVICES, name="device")


def fixture_of_cuda() -> Callable[..., Iterator[str]]:
    """The same for tests of what only a GPU has."""
    return pytest.fixture(
        _on_device, scope="module", autouse=True, params=DEVICES[1:], name="device"
    )
