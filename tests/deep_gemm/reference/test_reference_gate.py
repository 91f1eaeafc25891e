"""The reference of expert choice against cases computed by hand."""

import math

import pytest
import torch

from deep_gemm import reference


def score(logit: float) -> float:
    return math.sqrt(math.log1p(math.exp(logit)))


def test_scores_of_a_product_by_hand() -> None:
    x = torch.tensor([[1.0, 2.0]])
    weight = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0], [1.0, 1.0]])
    idx, weights = reference.bf16_mega_gate(x, weight, 2, 2.5)  # logits 1, 2, -3, 3
    assert idx.tolist() == [[3, 1]]
    total = score(3) + score(2)
    assert weights[0].tolist() == pytest.approx([score(3) / total * 2.5, score(2) / total * 2.5])


def test_bias_ranks_and_does_not_weigh() -> None:
    logits = torch.tensor([[0.0, 1.0, 2.0]], dtype=torch.float64)
    idx, weights = reference.gate_choice(logits, 2, 1.0, bias=torch.tensor([9.0, 0.0, 0.0]))
    assert idx.tolist() == [[0, 2]]
    total = score(0) + score(2)
    assert weights[0].tolist() == pytest.approx([score(0) / total, score(2) / total])


def test_equal_scores_take_the_lower_id_and_a_nan_comes_first() -> None:
    logits = torch.tensor([[1.0, 3.0, 3.0, 1.0], [1.0, math.nan, 3.0, 1.0]])
    idx, weights = reference.gate_choice(logits, 3, 1.0)
    assert idx.tolist() == [[1, 2, 0], [1, 2, 0]]
    assert not bool(weights[0].isnan().any()) and bool(weights[1].isnan().all())


def test_masked_tokens_have_no_expert_and_images_rank_by_their_bias() -> None:
    logits = torch.zeros(3, 4, dtype=torch.float64)
    idx, weights = reference.gate_choice(
        logits, 2, 4.0,
        mask=torch.tensor([True, False, True]),
        bias=torch.tensor([0.0, 1.0, 2.0, 3.0]),
        image_bias=torch.tensor([3.0, 2.0, 1.0, 0.0]),
        image_token_mask=torch.tensor([False, False, True]),
    )  # fmt: skip
    assert idx.tolist() == [[3, 2], [-1, -1], [0, 1]]
    assert weights.tolist() == [[2.0, 2.0], [0.0, 0.0], [2.0, 2.0]]


def test_fixed_tokens_keep_their_experts_and_minus_one_is_none() -> None:
    logits = torch.tensor([[0.0, 1.0, 2.0, 3.0]] * 2, dtype=torch.float64)
    idx, weights = reference.gate_choice(
        logits, 2, 1.0,
        fix_routing_mask=torch.tensor([True, False]),
        unmapped_topk_idx=torch.tensor([[1, -1], [7, 7]]),
    )  # fmt: skip
    assert idx.tolist() == [[1, -1], [3, 2]] and weights[0].tolist() == [1.0, 0.0]


def test_tokens_take_turns_among_the_copies_of_an_expert() -> None:
    logits = torch.tensor([[0.0, 1.0]] * 4, dtype=torch.float64)
    idx, _ = reference.gate_choice(
        logits, 1, 1.0,
        to_physical_map=torch.tensor([[5, -1, -1], [2, 3, 9]]),
        logical_count=torch.tensor([1, 3]),
    )  # fmt: skip
    assert idx.flatten().tolist() == [2, 3, 9, 2]


def test_scores_that_are_all_zero_give_no_weight() -> None:
    logits = torch.full((1, 3), -1e9, dtype=torch.float64)
    idx, weights = reference.gate_choice(logits, 2, 1.0)
    assert idx.tolist() == [[0, 1]] and weights.tolist() == [[0.0, 0.0]]
