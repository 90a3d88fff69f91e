"""/mcp with the official client over streamable HTTP: read-only tools, small answers, refusals that say where."""

import asyncio
import json
import threading

import pytest

mcp = pytest.importorskip("mcp", reason="the extra mcp is not installed")


@pytest.fixture(scope="module")
def served(app):
    """The application on a real port."""
    import uvicorn

    server = uvicorn.Server(uvicorn.Config(app, port=0, log_config=None))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        thread.join(0.02)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/mcp"
    server.should_exit = True
    thread.join(10)


def with_client(url, use):
    from mcp import ClientSession
    from mcp.client.streamable_http import streamable_http_client

    async def talk():
        async with streamable_http_client(url) as streams, ClientSession(*streams[:2]) as session:
            await session.initialize()
            return await use(session)

    return asyncio.run(talk())


def call(url, name, **arguments):
    async def use(session):
        return await session.call_tool(name, arguments)

    (content,) = with_client(url, use).content
    return json.loads(content.text)


def test_the_tools_only_read(served, holder):
    async def use(session):
        return (await session.list_tools()).tools

    tools = {tool.name: tool for tool in with_client(served, use)}
    assert tools.keys() == {"plan", "list_offers", "price_history", "breakeven", "explain"}
    assert all(tool.annotations.read_only_hint for tool in tools.values())


def test_a_plan_is_small_and_can_be_explained(served, holder):
    found = call(served, "plan", workload={"model": "llama-3.1-8b", "technique": "qlora", "tokens": 5e7})
    assert 0 < len(found["options"]) <= 10
    assert found["options"][0]["usd_per_hour"] == 1.79
    assert "compute" in call(served, "explain", plan_id=found["plan_id"], option=1)["text"]


def test_offers_history_and_breakeven(served, holder):
    assert {one["gpu"] for one in call(served, "list_offers", gpu="H100")["offers"]} == {"H100-SXM"}
    assert call(served, "price_history", gpu="H100")["rows"] == []
    assert call(served, "breakeven", gpu="H100", utilization=0.45)["verdict"] in ("cloud", "on_prem", "depends")


def test_a_refusal_says_where(served, holder):
    assert "/workload/model" in str(call(served, "plan", workload={"model": "nonesuch", "tokens": 1}))
    assert (
        "unknown" in str(call(served, "plan", workload={"modle": "gpt2"})).lower()
        or "extra" in str(call(served, "plan", workload={"modle": "gpt2"})).lower()
    )
    assert "no GPU" in str(call(served, "list_offers", gpu="nonesuch"))
