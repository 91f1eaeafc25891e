"""Every kernel that a hyper-connection plan names compiles for each family, without spills."""

import pytest
import torch

import deep_gemm
from tests.support.nvrtc import nvrtc_or_skip

ARCHS = ["80", "90a", "100a", "120a"]
SHAPES = [  # m, n, k, splits: with one of them each row of the tables is taken
    (1, 24, 7168, 16),
    (13, 24, 28672, None),
    (137, 24, 7168, None),
    (137, 32, 7168, 16),
    (600, 8, 7168, 2),
    (1500, 24, 7168, None),
    (4096, 24, 7168, None),
    (4096, 24, 7168, 16),
    (4096, 32, 7168, 16),
    (8192, 24, 28672, None),
    (8192, 32, 7168, 16),
    (20000, 16, 7168, None),
    (64, 40, 7168, None),
    (4096, 64, 7168, 8),
    (64, 24, 37, None),
    (64, 33, 37, 2),
    (9000, 24, 100, 2),
]


def source_of(m: int, n: int, k: int, splits: int | None, arch: str) -> str:
    a = torch.empty(m, k, dtype=torch.bfloat16, device="meta")
    b = torch.empty(n, k, device="meta")
    lead = () if splits is None else (splits,)
    d, squares = (torch.empty(*lead, *x, device="meta") for x in ((m, n), (m,)))
    answer = deep_gemm.plan("tf32_hc_prenorm_gemm", a, b, d, squares, splits, arch=arch)
    return answer["source"]


@pytest.mark.parametrize("arch", ARCHS)
def test_every_kernel_compiles_without_spills(arch: str) -> None:
    nvrtc = nvrtc_or_skip()
    sources = {source_of(*shape, arch): shape for shape in SHAPES}
    assert len(sources) >= 6
    for source, shape in sources.items():
        report = nvrtc.compile(source, arch)
        assert report.spill_bytes == 0 and "warning" not in report.log, f"{shape}:\n{report.log}"


def test_a_device_has_few_kernels_whatever_m_is() -> None:
    for splits in (None, 16):
        sources = {source_of(m, 24, 7168, splits, "90a") for m in (1, 13, 64, 137, 512, 1024, 2048)}
        sources |= {source_of(m, 24, 7168, splits, "90a") for m in (4096, 8192, 16384, 65536)}
        assert len(sources) <= 8
