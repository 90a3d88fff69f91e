"""The pages as a program meets them: headers, refusals, forms from elsewhere, and the API's rules beside them."""

import re
from dataclasses import replace
from datetime import timedelta

import pytest
from starlette.testclient import TestClient

from service.api.access import Access
from service.api.app import create_app
from service.domain.access import Scope
from service.domain.request import OnPremPool
from service.flows.keys import create_key, list_keys
from service.main import pages_of
from service.web.render import ASSETS, PROOF_COOKIE, asset_url
from service.web.site import add_pages

FORM = {"model": "llama-3.1-8b", "technique": "qlora", "tokens_million": "50"}
PAGES = ["/", "/ui/prices", "/ui/providers", "/ui/reports"]


def site_over(context):
    app = create_app(context)
    add_pages(app, pages_of(context))
    return app


@pytest.fixture
def context(holder, over, api_database):
    return over(holder, api_database)


@pytest.fixture
def web(context):
    return TestClient(site_over(context))


def hidden(page):
    """The hidden fields of the form that keeps an answer."""
    found = re.findall(r'<input type="hidden" name="([a-z_]+)" value="([^"]*)">', page)
    return {name: value.replace("&#34;", '"').replace("&amp;", "&").replace("&#39;", "'") for name, value in found}


def answered(web, **fields):
    answer = web.post("/", data={**FORM, **fields})
    assert answer.status_code == 200
    return answer.text


@pytest.mark.parametrize("path", PAGES)
def test_a_page_may_load_our_own_assets_only(web, path):
    answer = web.get(path)
    assert answer.status_code == 200
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; style-src 'self'; script-src 'self'")
    assert "unsafe" not in policy
    assert "data:" not in policy
    assert not re.search(r"\son[a-z]+=|\sstyle=|<style|<script(?! src=\"/ui/static/)", answer.text)
    assert set(re.findall(r'(?:src|href)="(http[^"]*|//[^"]*)"', answer.text)) == set()
    assert answer.headers["x-frame-options"] == "DENY"


@pytest.mark.parametrize("name", sorted(ASSETS))
def test_assets_are_kept_under_an_address_that_changes_with_them(web, name):
    answer = web.get(asset_url(name))
    assert answer.headers["content-type"].startswith(ASSETS[name])
    assert "immutable" in answer.headers["cache-control"]


def test_unknown_assets_and_plans_are_pages(web):
    for path in ("/ui/static/secrets.txt", "/ui/static/..%2f..%2fsite.py", "/ui/plans/nonesuch"):
        answer = web.get(path)
        assert answer.status_code == 404
        assert "nonesuch" not in answer.text


def test_the_rules_of_the_api_stand_beside_the_pages(web):
    assert web.get("/ui/nonesuch").headers["content-type"] == "application/problem+json"
    refused = web.post("/ui/prices")
    assert (refused.status_code, refused.headers["allow"]) == (405, "GET")
    paths = web.get("/openapi.json").json()["paths"]
    assert not [path for path in paths if path == "/" or path.startswith("/ui")]
    assert web.get("/offers?nonesuch=1").status_code == 422


def test_no_price_at_all_says_where_to_go(web, holder):
    holder.market = None
    answer = web.post("/", data=FORM)
    assert answer.status_code == 503
    assert 'href="/ui/providers"' in answer.text
    assert web.get("/ui/prices").status_code == 503
    assert web.get("/").status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site", "Origin": "http://other.testserver"},
    ],
)
def test_a_form_of_another_site_is_refused(web, headers):
    assert web.post("/", data=FORM, headers=headers).status_code == 403


def test_a_form_that_writes_brings_its_proof_back(web):
    kept = {**hidden(answered(web)), "name": "a", "owner": "b"}
    assert web.post("/ui/plans", data={**kept, "proof": "wrong"}).status_code == 403
    assert web.post("/ui/plans", data={name: value for name, value in kept.items() if name != "proof"}).status_code == 403
    without_cookie = TestClient(web.app)
    assert without_cookie.post("/ui/plans", data=kept).status_code == 403
    assert without_cookie.post("/ui/plans", data={**kept, "proof": ""}).status_code == 403
    assert without_cookie.post("/ui/providers/lambda/refresh", data={"proof": "x"}).status_code == 403
    assert web.post("/ui/plans", data=kept, follow_redirects=False).status_code == 303


def test_the_proof_is_out_of_reach_of_scripts_and_other_sites(web):
    cookie = web.get("/").headers["set-cookie"]
    assert cookie.startswith(f"{PROOF_COOKIE}=")
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert "set-cookie" not in web.get("/").headers  # the browser has it


def test_what_is_saved_is_what_was_shown(web):
    page = answered(web)
    shown = re.search(r"Plan ([0-9a-f]{32})", page)[1]
    saved = web.post("/ui/plans", data={**hidden(page), "name": "before", "owner": "Ada"}, follow_redirects=False)
    assert saved.headers["location"] == f"/ui/plans/{shown}"
    assert f"Plan {shown}" in web.get(saved.headers["location"]).text


def test_when_prices_have_changed_no_other_answer_is_saved(web, holder, market_with):
    kept = {**hidden(answered(web)), "name": "before", "owner": "Ada"}
    holder.market = replace(market_with({"region": "us-west-1"}), snapshot_id="s2")
    refused = web.post("/ui/plans", data=kept)  # the prices that the page showed are not stored in this database
    assert refused.status_code == 422
    assert "no price is stored for this instant" in refused.text


def test_saving_and_reporting_goes_on_to_the_reports(web):
    kept = {**hidden(answered(web)), "name": "to report", "owner": "Ada", "next": "report"}
    saved = web.post("/ui/plans", data=kept, follow_redirects=False)
    assert re.fullmatch(r"/ui/reports\?plan=[0-9a-f]{32}", saved.headers["location"])


@pytest.mark.parametrize(
    "change", [{"name": ""}, {"owner": "x" * 201}, {"name": "two\nlines"}, {"request": "{"}, {"request": "[]"}]
)
def test_what_cannot_be_saved_is_refused(web, change):
    kept = {**hidden(answered(web)), "name": "a", "owner": "b"}
    assert web.post("/ui/plans", data={**kept, **change}).status_code == 422


def test_names_stay_text(web):
    evil = '"><script>alert(1)</script>=1+1'
    kept = {**hidden(answered(web)), "name": evil, "owner": evil, "note": evil}
    page = web.post("/ui/plans", data=kept).text
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;=1+1" in page
    refused = web.post("/", data={**FORM, "model": evil, "residency": evil}).text
    assert "<script>alert" not in refused


def test_a_body_that_is_no_form_is_refused(web):
    assert web.post("/", json=FORM).status_code == 415
    too_many = "&".join(f"f{number}=1" for number in range(300))
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    assert web.post("/", content=too_many, headers=headers).status_code == 400
    assert web.post("/", content=b"model=%ff%fe", headers=headers).status_code == 400
    assert web.post("/", content=b"model=\xff", headers=headers).status_code == 400
    assert web.post("/", content=b"model=" + b"x" * 300_000, headers=headers).status_code == 413


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("gpu=H100&sort=price", "Choose one of the list"),
        ("gpu=H100&days=9000", "Choose one of the list"),
        ("max_usd_per_gpu_hour=1e3", "Write a plain number"),
        ("country=Mars", "Write the two letters"),
        ("gpu=zebra", "Nearest"),
        ("start=-1", "offers"),
        ("start=99999999", "offers"),
    ],
)
def test_a_filter_that_is_not_understood_is_told(web, query, status):
    answer = web.get(f"/ui/prices?{query}")
    assert answer.status_code == 200
    assert status in answer.text


def test_pages_of_saved_plans_begin_at_known_places(web):
    assert web.get("/ui/reports?before=yesterday").status_code == 422
    assert web.get("/ui/reports?before=2026-03-01T00:00:00Z&id=x").status_code == 200


def saved_plan(web, name="a plan"):
    kept = {**hidden(answered(web)), "name": name, "owner": "Ada"}
    return web.post("/ui/plans", data=kept, follow_redirects=False).headers["location"].rpartition("/")[2]


def test_a_report_is_asked_for_over_the_ticked_plans(web):
    plan_id = saved_plan(web)
    page = web.get(f"/ui/reports?plan={plan_id}").text
    assert f'value="{plan_id}" aria-label="a plan" checked' in page
    sent = {
        "proof": hidden(page)["proof"],
        "plan_ids": plan_id,
        "title": "Q3 <review>",
        "start": "2026-07-01",
        "end": "2026-09-30",
    }
    done = web.post("/ui/reports", data=sent)
    assert done.url.path == "/ui/reports"
    assert "Q3 &lt;review&gt;" in done.text
    assert "being made" in done.text
    assert web.post("/ui/reports", data={**sent, "proof": "no"}).status_code == 403


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"plan_ids": []}, "Choose 1 to 20 saved plans"),
        ({"plan_ids": "zebra"}, "No saved plan has this id"),
        ({"plan_ids": "=zebra"}, "Choose 1 to 20 saved plans"),
        ({"plan_ids": "0" * 32}, "No saved plan has this id"),
        ({"start": "2026-09-30", "end": "2026-07-01"}, "A period has two days"),
        ({"start": "2026-07-01"}, "A period has two days"),
        ({"title": "x" * 10_000}, "A title has 1 to 200"),
        ({"currency": "euros"}, "three capital letters"),
        ({"currency": "XXX"}, "rate"),
    ],
)
def test_a_report_that_cannot_be_made_says_why(web, change, told):
    sent = {"plan_ids": saved_plan(web), "proof": web.cookies[PROOF_COOKIE], **change}
    refused = web.post("/ui/reports", data=sent)
    assert refused.status_code == 422
    assert told in refused.text


def test_an_unknown_report_is_a_page(web):
    web.get("/")
    answer = web.post("/ui/reports/zebra/retry", data={"proof": web.cookies[PROOF_COOKIE]})
    assert (answer.status_code, answer.headers["content-type"]) == (404, "text/html; charset=utf-8")


def test_a_stored_pool_can_be_chosen(context):
    pool = OnPremPool.model_validate_json('{"name": "dc1", "gpu": "H100 SXM", "mode": "owned"}')
    web = TestClient(site_over(replace(context, pools=lambda: {"dc1": pool})))
    assert 'value="stored:dc1"' in web.get("/").text
    assert "Stored: dc1: 1 × 8 × H100 SXM" in answered(web, own="stored:dc1")
    assert "no pool of this name" in answered(web, own="stored:nonesuch").lower()


def test_a_saved_plan_is_drawn_with_the_hardware_as_it_was(context):
    pool = OnPremPool.model_validate_json('{"name": "dc1", "gpu": "RTX 4090", "gpus_per_node": 4, "capex_usd_per_node": 9000}')
    pools = {"dc1": pool}
    web = TestClient(site_over(replace(context, pools=lambda: pools)))
    kept = {**hidden(answered(web, own="stored:dc1", runs_per_month="20")), "name": "own", "owner": "Ada"}
    before = web.post("/ui/plans", data=kept)
    drawn = re.search(r'<figure class="chart" id="chart-cumulative">.*?</figure>', before.text, re.DOTALL)[0]
    pools["dc1"] = pool.model_copy(update={"capex_usd_per_node": 90_000.0})
    assert drawn in web.get(before.url.path).text
    pools.clear()
    assert drawn in web.get(before.url.path).text


def test_only_an_administrator_s_key_reads_a_provider_again(context, api_database, now):
    plain = {scope: create_key(api_database, name=scope, scope=scope, expires_at=None, now=now)[0] for scope in Scope}
    known = {key.key_id: key for key in list_keys(api_database)}
    access = Access(keys=lambda: known, clock=lambda: now + timedelta(minutes=1), always=True)
    web = TestClient(site_over(replace(context, access=access)))
    assert web.get("/").status_code == 401
    for scope, status in ((Scope.PLAN, 403), (Scope.ADMIN, 303)):
        auth = ("any", plain[scope])
        page = web.get("/ui/providers", auth=auth)
        proof = hidden(page.text)["proof"]
        sent = web.post("/ui/providers/lambda/refresh", data={"proof": proof}, auth=auth, follow_redirects=False)
        assert sent.status_code == status, scope
