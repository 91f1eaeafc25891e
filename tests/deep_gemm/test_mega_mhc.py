"""mega_mhc is absent; its product and square sums of four streams are here."""

import pytest
import torch

import deep_gemm
from deep_gemm import reference
from tests.support.devices import DEVICES

STREAMS = 4
COLUMNS = STREAMS * (STREAMS + 2)


def test_the_name_is_absent_with_a_reason() -> None:
    with pytest.raises(AttributeError, match=r"mega_mhc.*tf32_hc_prenorm_gemm"):
        _ = deep_gemm.mega_mhc
    ok, why = deep_gemm.supports("mega_mhc")
    assert not ok and "tf32_hc_prenorm_gemm" in why


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("tokens", [1, 13, 137])
@pytest.mark.parametrize("splits", [None, 16])
def test_product_and_square_sums_of_four_streams(
    tokens: int, splits: int | None, device: str
) -> None:
    g = torch.Generator().manual_seed(tokens)
    residual = torch.randn(tokens, STREAMS, 1024, generator=g).bfloat16()
    fn = torch.randn(COLUMNS, STREAMS * 1024, generator=g)
    a = residual.flatten(1).to(device)
    lead = () if splits is None else (splits,)
    d = torch.full((*lead, tokens, COLUMNS), torch.nan, device=device)
    squares = torch.full((*lead, tokens), torch.nan, device=device)
    deep_gemm.tf32_hc_prenorm_gemm(a, fn.to(device), d, squares, splits)
    want, want_squares = reference.tf32_hc_prenorm_gemm(residual.flatten(1), fn)
    if splits is not None:
        d, squares = d.sum(0), squares.sum(0)
    assert deep_gemm.testing.calc_diff(d.cpu(), want) < 1e-8
    assert deep_gemm.testing.calc_diff(squares.cpu(), want_squares) < 1e-10
