"""The memory model on the measured rows: it may not get worse than recorded, and it beats what it must beat.

Recorded figures: memory_scores.json beside this file, from `python tests/accuracy/test_memory_accuracy.py`.
"""

import csv
import json
from pathlib import Path

import pytest

from service.estimate.score_memory import CLASSES, evaluate_memory

FOLDER = Path(__file__).parent
RECORD = FOLDER / "memory_scores.json"
WORSE_BY = 1.10  # a tenth
NOISE_PERCENT = 0.1  # below this a figure is not told apart
PEERS_MEDIAN = 31.0  # the best median of a peer that estimates training and inference
MOST_UNDER_SAFE = 3.0


def rows() -> list[dict[str, str]]:
    with (FOLDER / "measured_memory.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def score():
    return evaluate_memory(rows(), by="table")


def test_every_row_of_confidence_a_or_b_is_scored(score):
    # 432 rows, 10 of them contradict their own configuration
    assert (score.overall.rows, len(score.scored), score.failures) == (432, 422, ())


@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize("figure", ["median_ape", "p90_ape"])
def test_no_class_gets_worse_by_more_than_a_tenth(score, kind, figure):
    recorded = json.loads(RECORD.read_text(encoding="utf-8"))["classes"][kind][figure]
    assert getattr(score.classes[kind], figure) <= recorded * WORSE_BY + NOISE_PERCENT


def test_the_median_row_and_the_mean_table_are_where_they_must_be(score):
    assert score.overall.median_ape <= 4.5
    assert score.overall.table_mean_median <= 8.0
    assert score.overall.p90_ape <= 18.2
    assert score.overall.median_ape < PEERS_MEDIAN


@pytest.mark.parametrize("kind", CLASSES)
def test_the_safe_value_covers_97_of_100_rows_of_its_class(score, kind):
    assert score.classes[kind].under_safe <= MOST_UNDER_SAFE


def test_safe_values_are_not_bought_with_half_the_card(score):
    ratios = sorted(one.safe / one.point for _, one in score.scored)
    assert ratios[len(ratios) // 2] < 1.2


def test_a_hidden_framework_is_guessed_soundly():
    hidden = evaluate_memory(rows(), hide_framework=True)
    assert hidden.overall.median_ape <= 11.0
    assert hidden.failures == ()


def test_no_row_knows_its_table():
    """A row's source decides nothing: another publisher's name gives the same estimate."""
    renamed = [row | {"source": "another", "id": str(number)} for number, row in enumerate(rows())]
    ours = [one.point for _, one in evaluate_memory(rows()).scored]
    assert [one.point for _, one in evaluate_memory(renamed).scored] == ours


if __name__ == "__main__":
    RECORD.write_text(json.dumps(evaluate_memory(rows(), by="table").as_json(), indent=1) + "\n", encoding="utf-8")
