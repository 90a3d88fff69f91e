"""Sustained rates of cards: measured where known, bounded by power, falling back with a note."""

from dataclasses import replace

import pytest

from providers.errors import InvalidInput
from providers.gpus import GPUS
from service.estimate.card_rates import matmul_rate, rates_of
from service.estimate.time_constants import TIME

H100 = GPUS["H100-SXM"]


def test_a_measured_card_takes_its_share_of_the_measured_rate():
    # 794.5 TFLOPS measured
    assert rates_of(H100).matmul_16bit == pytest.approx(794.5e12 * TIME.matmul.of_measured["Hopper"])


def test_a_card_short_of_power_sustains_less_of_its_peak():
    unlimited = replace(H100, name="a", measured_bf16_tflops=None, tdp_watts=2000.0)
    limited = replace(unlimited, name="b", tdp_watts=500.0)
    # 1.14 W per TFLOPS x 989 = 1127 W wanted, 500 given
    factor = (500 / (TIME.matmul.watts_per_tflops["Hopper"] * 989)) ** TIME.matmul.power_exponent
    assert rates_of(limited).matmul_16bit == pytest.approx(rates_of(unlimited).matmul_16bit * factor)


def test_a_card_without_bf16_uses_its_fp16_rate_and_says_so():
    v100 = rates_of(GPUS["V100-SXM2-16GB"])
    assert v100.peak_16bit == 125e12
    assert any("no bf16" in note for note in v100.notes)


def test_a_format_without_a_unit_is_computed_at_the_next_wider_one():
    a100 = rates_of(GPUS["A100-SXM4-80GB"])
    assert matmul_rate(a100, "fp8") == matmul_rate(a100, "fp4") == matmul_rate(a100, "bf16")


def test_narrower_formats_are_never_slower():
    for gpu in GPUS.values():
        rates = rates_of(gpu)
        assert rates.matmul_fp4 >= rates.matmul_fp8 >= rates.matmul_16bit >= rates.matmul_fp32 > 0


def test_a_geforce_card_has_its_chips_rate_where_sums_are_kept_in_16_bits():
    # the 3090's data sheet names half of its chip's rate; 350 W do for it
    card = rates_of(GPUS["RTX 3090"])
    assert card.matmul_half_accumulate == pytest.approx(2 * card.matmul_16bit, rel=0.01)
    assert not card.has_peer_to_peer
    assert rates_of(GPUS["RTX A6000"]).has_peer_to_peer


def test_a_card_without_any_16_bit_rate_falls_back_to_fp32():
    bare = replace(H100, bf16_tflops=None, fp16_tflops=None, measured_bf16_tflops=None)
    assert rates_of(bare).peak_16bit == 67e12


def test_a_card_without_a_bandwidth_is_refused():
    with pytest.raises(InvalidInput, match="no rate is known"):
        rates_of(replace(H100, bandwidth_gb_per_s=0.0))
