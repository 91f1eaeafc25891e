"""Grouped, attention, einsum and hyper-connection references against hand-computed cases."""

import pytest
import torch

from deep_gemm import reference


def numbers(*shape: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(-4, 5, shape, generator=generator).float()


def test_index_layout_picks_the_group_of_each_row() -> None:
    a, b = numbers(6, 4), numbers(2, 3, 4, seed=1)
    labels = torch.tensor([1, 1, -1, 0, -1, 0], dtype=torch.int32)
    got, written = reference.m_grouped_contiguous(a, b, labels)
    for row, label in enumerate(labels.tolist()):
        want = b[label] @ a[row] if label >= 0 else torch.zeros(3)
        assert torch.equal(got[row].float(), want) and bool(written[row]) == (label >= 0)


def test_psum_layout_starts_groups_at_the_alignment() -> None:
    assert reference.psum_ranges([3, 4, 9], 4) == [(0, 3), (4, 4), (4, 9)]
    a, b = numbers(12, 4), numbers(3, 2, 4, seed=2)
    ends = torch.tensor([3, 4, 9], dtype=torch.int32)
    got, written = reference.m_grouped_contiguous(a, b, ends, use_psum_layout=True, alignment=4)
    assert written.tolist() == [True] * 3 + [False] + [True] * 5 + [False] * 3
    assert torch.equal(got[2].float(), b[0] @ a[2]) and torch.equal(got[8].float(), b[2] @ a[8])


def test_psum_end_before_its_start_is_an_error() -> None:
    with pytest.raises(ValueError, match="group 1 ends at 3"):
        reference.psum_ranges([3, 3], 4)


@pytest.mark.parametrize("label", [-2, 2])
def test_a_label_outside_the_groups_is_an_error(label: int) -> None:
    with pytest.raises(ValueError, match="label"):
        reference.m_grouped_contiguous(
            numbers(1, 4), numbers(2, 3, 4), torch.tensor([label], dtype=torch.int32)
        )


def test_padding_never_reaches_valid_rows() -> None:
    a, b = numbers(4, 4), numbers(1, 3, 4, seed=3)
    labels = torch.tensor([0, -1, 0, -1], dtype=torch.int32)
    want, _ = reference.m_grouped_contiguous(a, b, labels)
    a[1], a[3] = float("nan"), float("inf")
    assert torch.equal(reference.m_grouped_contiguous(a, b, labels)[0], want)


def test_masked_counts_rows_per_group() -> None:
    a, b = numbers(3, 4, 2), numbers(3, 5, 2, seed=4)
    got, written = reference.m_grouped_masked(a, b, torch.tensor([0, 2, 4]))
    assert written.sum(1).tolist() == [0, 2, 4]
    assert torch.equal(got[1, 1].float(), b[1] @ a[1, 1]) and not bool(got[0].any())
    with pytest.raises(ValueError, match="outside"):
        reference.m_grouped_masked(a, b, torch.tensor([0, 5, 0]))


def test_k_grouped_sums_each_part_of_k() -> None:
    a, b = numbers(6, 2), numbers(6, 3, seed=5)
    c = numbers(3, 2, 3, seed=6)
    got = reference.k_grouped(a, b, [2, 0, 4], c)
    assert torch.equal(got[0].float(), c[0] + a[:2].t() @ b[:2])
    assert torch.equal(got[1].float(), c[1])
    assert torch.equal(got[2].float(), c[2] + a[2:].t() @ b[2:])
    spaced = reference.k_grouped(numbers(8, 2), numbers(8, 3), [2, 4], alignment=4)
    assert torch.equal(spaced[1].float(), numbers(8, 2)[4:].t() @ numbers(8, 3)[4:])


def test_mqa_logits_by_loops() -> None:
    q, k, scale = numbers(3, 2, 4), numbers(5, 4, seed=7), torch.tensor([1.0, 2, 3, 4, 5])
    weights = numbers(3, 2, seed=8)
    start, end = torch.tensor([0, 2, 4]), torch.tensor([5, 2, 5])
    got = reference.mqa_logits(q, k, scale, weights, start, end)
    for i in range(3):
        for j in range(5):
            want = -torch.inf
            if start[i] <= j < end[i]:
                want = scale[j] * sum(
                    weights[i, h] * max(float(q[i, h] @ k[j]), 0.0) for h in range(2)
                )
            assert got[i, j] == want


def test_paged_logits_equal_contiguous_ones() -> None:
    page, width, blocks = 4, 8, 6
    k = numbers(blocks * page, width, seed=9).to(torch.float8_e4m3fn)
    scale = torch.arange(1.0, blocks * page + 1)
    cache = torch.zeros(blocks, page, 1, width + 4, dtype=torch.uint8)
    flat = cache.view(blocks, -1)
    flat[:, : page * width] = k.view(torch.uint8).view(blocks, -1)
    flat[:, page * width :] = scale.view(blocks, page).view(torch.uint8)
    q, weights = numbers(2, 1, 3, width, seed=10), numbers(2, 3, seed=11)
    table = torch.tensor([[3, 1, 99], [5, 99, 99]], dtype=torch.int32)
    lens = torch.tensor([[7], [0]], dtype=torch.int32)
    got = reference.paged_mqa_logits(q, cache, weights, lens, table, 9)
    order = torch.tensor([12, 13, 14, 15, 4, 5, 6])
    want = reference.mqa_logits(
        q[0], k.float()[order], scale[order], weights[:1], torch.tensor([0]), torch.tensor([7])
    )
    assert torch.equal(got[0, :7], want[0])
    assert bool((got[0, 7:] == -torch.inf).all()) and bool((got[1] == -torch.inf).all())


@pytest.mark.parametrize("expr", ["bhr,hdr->bhd", "bhd,hdr->bhr", "bhd,bhr->hdr"])
def test_einsum_agrees_with_torch(expr: str) -> None:
    sizes = {"b": 3, "h": 2, "d": 4, "r": 5}
    left, right = expr.split("->")[0].split(",")
    a, b = numbers(*(sizes[x] for x in left)), numbers(*(sizes[x] for x in right), seed=12)
    got = reference.fp8_einsum(
        expr,
        (a.to(torch.float8_e4m3fn), torch.ones_like(a)),
        (b.to(torch.float8_e4m3fn), torch.ones_like(b)),
        recipe=(1, 1, 1),
    )
    assert torch.equal(got.float(), torch.einsum(expr, a, b))


def test_einsum_refuses_other_expressions() -> None:
    pair = (torch.ones(1, 1, 1), torch.ones(1, 1, 1))
    with pytest.raises(ValueError, match="Unsupported einsum expression: ab,bc->ac"):
        reference.fp8_einsum("ab,bc->ac", pair, pair)


@pytest.mark.parametrize("num_splits", [1, 3, 16])
def test_prenorm_splits_add_up(num_splits: int) -> None:
    a, b = numbers(3, 64 * 5), numbers(8, 64 * 5, seed=13)
    d, sqr_sum = reference.tf32_hc_prenorm_gemm(a, b)
    assert torch.equal(d.float(), a @ b.t()) and torch.equal(sqr_sum.float(), (a * a).sum(1))
    parts, squares = reference.tf32_hc_prenorm_gemm(a, b, num_splits)
    assert parts.shape == (num_splits, 3, 8) and squares.shape == (num_splits, 3)
    assert torch.equal(parts.sum(0), d) and torch.equal(squares.sum(0), sqr_sum)


def test_prenorm_gives_the_first_splits_one_block_more() -> None:
    a = torch.zeros(1, 64 * 4)
    a[0, 64 * 2] = 1.0
    _, squares = reference.tf32_hc_prenorm_gemm(a, numbers(8, 64 * 4), 3)
    assert squares[:, 0].tolist() == [0.0, 1.0, 0.0]
