"""Curl: a request as a command that can be pasted into a shell."""

from service.domain.request import PlanRequest


def curl_of(request: PlanRequest, base: str) -> str:
    """POST /plan with this request."""
    body = request.model_dump_json(exclude_unset=True).replace("'", "'\\''")
    return f"curl -s '{base}/plan' -H 'Content-Type: application/json' -d '{body}'"
