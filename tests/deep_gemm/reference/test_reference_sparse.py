"""The reference of sparse logits against columns computed by hand and against all logits."""

import pytest
import torch

from deep_gemm import reference


def int32(*rows: object) -> torch.Tensor:
    return torch.tensor(rows, dtype=torch.int32)


def test_tokens_of_aligned_blocks_are_cut_by_the_range() -> None:
    tokens, visible = reference.sparse_tokens(int32(5), int32(21), int32([0, 2, -1, 9]), 8)
    assert tokens[0, :8].tolist() == list(range(8))
    assert visible[0].tolist() == [False] * 5 + [True] * 8 + [False] * 3 + [False] * 16


def test_tokens_of_unaligned_blocks_begin_at_the_range() -> None:
    # Keys 5 to 20: blocks 0 (5 to 12) and 1 (13 to 20); there is no third.
    tokens, visible = reference.sparse_tokens(int32(5), int32(21), int32([0, 1, 2, 2]), 8, True)
    assert tokens[0, :16].tolist() == list(range(5, 21))
    assert visible[0].tolist() == [True] * 16 + [False] * 16
    _, visible = reference.sparse_tokens(int32(5), int32(20), int32([1, 0, 0, 0]), 8, True)
    assert visible[0].tolist() == [True] * 7 + [False] + [True] * 8 + [False] * 16


def test_only_as_many_entries_count_as_the_range_has_blocks() -> None:
    _, visible = reference.sparse_tokens(int32(0), int32(9), int32([1, 0, 0, 1]), 8)
    assert visible.view(4, 8).sum(1).tolist() == [1, 8, 0, 0]
    for start, end in [(4, 4), (9, 4), (0, 0)]:
        _, visible = reference.sparse_tokens(int32(start), int32(end), int32([0, 0, 0, 0]), 8)
        assert not bool(visible.any())


def test_one_logit_by_hand() -> None:
    # relu(1 * 2 + 2 * -3) * 5 = 0 and relu(3 * 2 - 1 * -3) * 0.5 = 4.5, times the key's scale 2.
    q = torch.tensor([[[1.0, 2.0], [3.0, -1.0]]])
    k = torch.zeros(10, 2)
    k[9] = torch.tensor([2.0, -3.0])
    scale = torch.full((10,), 2.0)
    got = reference.sparse_mqa_logits(
        q, k, scale, torch.tensor([[5.0, 0.5]]), int32(0), int32(10), int32([1, -1, -1, -1]), 8
    )
    assert got[0, 1].item() == 9.0 and got[0, 0].item() == 0.0
    assert bool((got[0, 2:] == -torch.inf).all())


@pytest.mark.parametrize("unaligned", [False, True], ids=["aligned", "unaligned"])
def test_sparse_logits_are_columns_of_all_logits(unaligned: bool) -> None:
    g = torch.Generator().manual_seed(7)
    q, k = torch.randn(3, 4, 32, generator=g), torch.randn(50, 32, generator=g)
    scale, weights = torch.rand(50, generator=g), torch.randn(3, 4, generator=g)
    starts, ends = int32(0, 13, 30), int32(50, 41, 31)
    blocks = int32([0, 2, 5, 6], [1, 2, 3, 4], [3, 3, 3, 3])
    whole = reference.mqa_logits(q, k, scale, weights, starts, ends)
    got = reference.sparse_mqa_logits(q, k, scale, weights, starts, ends, blocks, 8, unaligned)
    for row in range(3):
        shift = int(starts[row]) % 8 if unaligned else 0
        for column, value in enumerate(got[row].tolist()):
            token = int(blocks[row, column // 8]) * 8 + column % 8 + shift
            has_entry = column // 8 < (1 if row == 2 else 4)
            is_inside = has_entry and token < 50
            want = whole[row, token].item() if is_inside else -torch.inf
            assert value == pytest.approx(want, rel=1e-12), (row, column)


def test_pages_are_found_by_the_table() -> None:
    g = torch.Generator().manual_seed(8)
    cache = torch.zeros(4, 16 * 36, dtype=torch.uint8)
    values = torch.randn(4, 16, 32, generator=g).to(torch.float8_e4m3fn)
    cache[:, : 16 * 32] = values.view(torch.uint8).view(4, -1)
    cache[:, 16 * 32 :] = torch.ones(4, 16).view(torch.uint8).view(4, -1)
    q, weights = torch.randn(1, 2, 32, generator=g), torch.ones(1, 2)
    got = reference.paged_sparse_mqa_logits(
        q.to(torch.float8_e4m3fn), cache.view(4, 16, 1, 36), weights, int32(27),
        int32([3, 1, 99]), int32([1, 3, 0, 0]), 8,
    )  # fmt: skip
    k = torch.cat([values[3], values[1]]).double()
    want = torch.einsum("hd,td->ht", q[0].to(torch.float8_e4m3fn).double(), k).relu().sum(0)
    assert torch.allclose(got[0, :8], want[8:16]) and torch.allclose(got[0, 8:11], want[24:27])
    assert torch.allclose(got[0, 16:24], want[:8])
    assert bool((got[0, 11:16] == -torch.inf).all())
