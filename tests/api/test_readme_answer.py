"""The answer printed in the README is the one that its request gets on the shipped prices.

`python tests/api/test_readme_answer.py` prints it anew.
"""

import json
import re
from datetime import UTC, datetime
from pathlib import Path

from providers.registry import ADAPTERS
from service.domain.request import DataSensitivity, PlanRequest
from service.flows.plan import make_plan
from service.solver.columns import columns_of
from service.solver.market import FeedStatus, Market

README = Path(__file__).resolve().parents[2] / "README.md"
READ_AT = datetime(2026, 11, 30, 11, 59, tzinfo=UTC)


def blocks():
    """The request and the answer as the README prints them."""
    text = README.read_text(encoding="utf-8")
    request = re.search(r"<<'JSON'\n(.*?)\nJSON", text, re.DOTALL)
    answer = re.search(r"<!-- answer -->\n```json\n(.*?)\n```", text, re.DOTALL)
    return json.loads(request[1]), json.loads(answer[1])


def answered(request):
    """What the service answers when it has read the shipped tables alone."""
    from service.api.plan import plan_json

    columns, statuses = {}, []
    for adapter in (kind() for kind in ADAPTERS if kind.is_shipped):
        batch = adapter.parse(adapter.fetch(None), READ_AT)
        columns[adapter.name] = columns_of(batch.offers)
        statuses.append(
            FeedStatus(
                name=adapter.name,
                last_success_at=READ_AT,
                last_attempt_at=READ_AT,
                interval_seconds=adapter.default_interval_seconds,
                offers=len(batch.offers),
            )
        )
    assert set(columns) == {"reference", "colab", "kaggle"}
    market = Market.build(columns, statuses, snapshot_id="shipped", as_of=READ_AT)
    asked = PlanRequest.model_validate_json(json.dumps(request))
    plan = make_plan(asked, market, now=READ_AT, pools={}, default_sensitivity=DataSensitivity.INTERNAL)
    return json.loads(plan_json(plan, asked))


def test_the_printed_answer_is_the_answer():
    request, printed = blocks()
    assert printed == answered(request), "run: python tests/api/test_readme_answer.py"


if __name__ == "__main__":
    print(json.dumps(answered(blocks()[0]), indent=1, ensure_ascii=False))
