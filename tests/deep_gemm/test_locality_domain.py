"""With one domain, asking about localization and asking for it change nothing."""

import pytest
import torch

import deep_gemm
from deep_gemm import locality_domain


def test_there_is_one_domain_and_nothing_to_move() -> None:
    assert deep_gemm.get_num_locality_domains() == 1
    assert deep_gemm.is_localization_available() is False
    t = torch.ones(4, 6)
    assert deep_gemm.localize(t) is t and deep_gemm.localize(t, dim=0) is t
    assert deep_gemm.is_localized(t) is False
    assert deep_gemm.destroy_localizer() is None


def test_a_dimension_that_is_not_there_is_refused() -> None:
    with pytest.raises(IndexError, match="dim=2"):
        locality_domain.localize(torch.ones(4, 6), dim=2)


def test_the_package_exports_the_module_and_its_names() -> None:
    assert deep_gemm.locality_domain is locality_domain
    for name in locality_domain.__all__:
        assert getattr(deep_gemm, name) is getattr(locality_domain, name)
