"""GET /healthz: is the process alive. Readiness and metrics are told beside it."""

from pydantic import BaseModel

from service.api.routing import operation, router_of

router = router_of("service")


class Health(BaseModel):
    """The process answers."""

    status: str


@router.get("/healthz", response_model=Health, **operation("getHealth", "Is the process alive"))
async def get_health() -> Health:
    """Answers as long as the process runs, whatever the state of database and providers: for a liveness probe."""
    return Health(status="ok")
