"""Hashes that are computed once: equal jobs and models stay equal keys, and no answer shows the hash."""

from dataclasses import asdict, replace

from pydantic import TypeAdapter

from providers.gpus import GPUS
from service.estimate.card_rates import rates_of
from service.estimate.models import MODELS
from service.estimate.parallel import Parallelism
from service.estimate.train_step import Layout

LLAMA = MODELS["Llama-3.1-8B"]


def test_equal_shapes_are_one_key_and_others_are_not():
    same, other = replace(LLAMA), replace(LLAMA, layers=31)
    assert (same == LLAMA, hash(same) == hash(LLAMA)) == (True, True)
    assert (other == LLAMA, hash(other) == hash(LLAMA)) == (False, False)
    assert {LLAMA: 1}[same] == 1


def test_the_hash_is_no_field():
    assert not [name for name in asdict(LLAMA) if name.startswith("_")]
    assert b"_hash" not in TypeAdapter(type(LLAMA)).dump_json(LLAMA)


def test_degrees_are_keys_too():
    assert len({Parallelism(data=2), Parallelism(data=2), Parallelism(data=4), Layout(data=2)}) == 3


def test_a_card_is_the_key_of_its_name_and_equal_by_all_it_states():
    card = GPUS["H100-SXM"]
    slower = replace(card, bandwidth_gb_per_s=1000.0)
    assert hash(slower) == hash(card)
    assert slower != card
    assert rates_of(slower).bandwidth < rates_of(card).bandwidth


def test_every_card_of_the_table_can_be_timed():
    assert all(rates_of(card).matmul_16bit > 0 for card in GPUS.values())
