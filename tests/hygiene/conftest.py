"""The option that runs the header test under the machine's other compilers."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--other-compilers", action="store_true", help="g++-11, g++-13, clang++ ...")
