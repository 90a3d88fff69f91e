"""The web page in real Chromium over the real server: filled in, read, saved; nothing from elsewhere, nothing in the console.

Runs on the reference prices alone. Debian's chromium is used; without it these tests are skipped.
"""

import os
import re
import shutil
import socket
import subprocess
import sys
import time

import httpx
import pytest

CHROMIUM = shutil.which("chromium")
if CHROMIUM is None:
    pytest.skip("chromium is not installed (apt-get install --no-install-recommends chromium)", allow_module_level=True)
playwright = pytest.importorskip("playwright.sync_api")
axe = pytest.importorskip("axe_playwright_python.sync_playwright")

ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
OTHERS = ("RUNPOD", "VAST", "LAMBDA", "AWS", "SAGEMAKER", "GCP", "VERTEX", "AZURE", "AZUREML", "COLAB", "KAGGLE")
EVIL = "=1+1 <script>alert(1)</script>"


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    """The address of a server on its own database."""
    folder = tmp_path_factory.mktemp("web")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GPUPLAN_")}
    environment |= {f"GPUPLAN_PROVIDERS__{name}__ENABLED": "false" for name in OTHERS}
    environment |= {"GPUPLAN_DATABASE_URL": f"sqlite:///{folder}/prices.db"}
    command = [sys.executable, "-c", "import sys; from service.cli import main; sys.exit(main())", "serve", "--port", str(port)]
    log = (folder / "log").open("w")
    process = subprocess.Popen(command, env=environment, stderr=log)
    address = f"http://127.0.0.1:{port}"
    for _ in range(600):
        try:
            if httpx.get(f"{address}/readyz", timeout=10).status_code == 200:
                break
        except httpx.TransportError:
            assert process.poll() is None, (folder / "log").read_text()
        time.sleep(0.05)
    yield address
    process.kill()
    process.wait()
    log.close()
    assert "request failed" not in (folder / "log").read_text()


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield started
        started.close()


@pytest.fixture
def open_page(browser, base):
    """Opens pages that may reach this server only; afterwards nothing may stand in a console, and nothing was refused."""
    contexts, complaints = [], []

    def guard(route):
        if route.request.url.startswith(f"{base}/"):
            route.continue_()
        else:
            complaints.append(f"asked for {route.request.url}")
            route.abort()

    def made(path="/", **options):
        context = browser.new_context(base_url=base, **{"viewport": DESKTOP, **options})
        contexts.append(context)
        context.set_default_timeout(15_000)
        context.route("**/*", guard)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(f"console: {message.text}") if message.type != "log" else None)
        page.on("pageerror", lambda error: complaints.append(f"error: {error}"))
        page.on(
            "requestfailed",
            lambda request: complaints.append(f"failed: {request.url}") if "ABORTED" not in str(request.failure) else None,
        )
        page.goto(path)
        return page

    yield made
    for context in contexts:
        context.close()
    assert complaints == []


def faults_for_readers(page):
    """What axe-core finds that keeps people out."""
    found = axe.Axe().run(page).response["violations"]
    return [
        (one["id"], [node["html"][:200] for node in one["nodes"]]) for one in found if one["impact"] in ("serious", "critical")
    ]


def ask(page, **fields):
    """Fills the form and sends it."""
    for name, value in {"model": "llama-3.1-8b", **fields}.items():
        field = page.locator(f"#{name}")
        if field.evaluate("field => field.tagName") == "SELECT":
            field.select_option(value)
        elif name.startswith("amount-"):
            field.check()
        else:
            field.fill(value)
    page.get_by_role("button", name="Find the cheapest").click()


def cents(text):
    return round(float(re.sub(r"[^0-9.]", "", text)) * 100)


def test_a_newcomer_fills_the_form_and_reads_the_ranking(open_page):
    page = open_page()
    assert page.locator("#models option").count() > 100
    ask(page, runs_per_month="40")
    verdict = page.locator("#verdict").inner_text()
    assert verdict.startswith("Rent: no own hardware was given")
    assert page.locator("p.note").inner_text().startswith("Only dated prices")
    ranks = page.locator("tr.option > th").all_inner_texts()
    assert ranks == [str(rank) for rank in range(1, 11)]
    # neither a suspect nor an undated price ranks first while a dated one fits; every other place is by cost
    first, *others = [cents(text) for text in page.locator("tr.option td.cost strong").all_inner_texts()]
    assert others == sorted(others)
    sound = page.locator("tr.option", has_not=page.get_by_text(re.compile("^(suspect|undated)$")))
    totals = [cents(text) for text in sound.locator("td.cost strong").all_inner_texts()]
    assert totals == sorted(totals)
    assert totals[0] == first
    page.get_by_text("Cost lines and reasons of #1", exact=True).click()
    rows = page.locator("tr.lines").first.locator("table")
    lines = [cents(row.split("\t")[2]) for row in rows.locator("tbody tr").all_inner_texts()]
    total = cents(rows.locator("tfoot tr").inner_text().split("\t")[2])
    assert abs(sum(lines) - total) <= len(lines)  # each is shown to the cent
    assert page.locator("#excluded + .scroll tbody tr").count() >= 3
    assert page.locator("svg[role=img]").count() == 2
    assert faults_for_readers(page) == []


def test_own_hardware_brings_the_decision_and_its_charts(open_page):
    page = open_page()
    assert page.locator("#own_gpu").is_hidden()
    slider = {"amount-utilization": "", "utilization_percent": "60", "reference_gpu": "H100 SXM"}
    ask(page, technique="full", own="described", own_capex_usd_per_node="200000", **slider)
    assert "60 %" in page.locator("#verdict").inner_text()
    shown = page.locator("figure.chart").evaluate_all("all => all.map(one => one.id)")
    assert shown == ["chart-utilization", "chart-cumulative", "chart-pareto", "chart-components", "chart-tornado"]
    assert page.get_by_text("this plan 60 %").is_visible()
    for figure in page.locator("figure.chart").all():
        figure.get_by_text("As a table").click()
        assert figure.locator("tbody tr").count() >= 2
    colours = page.evaluate(
        """() => [...document.querySelectorAll('svg [stroke^="var("]')].map(e => getComputedStyle(e).stroke)"""
    )
    assert "rgb(184, 74, 0)" in colours  # the page's style sheet gives the charts their colours


def test_the_slider_tells_its_value_and_the_command_can_be_copied(open_page):
    page = open_page()
    page.locator("#amount-utilization").check()
    page.locator("#utilization_percent").fill("73")
    assert page.locator("output").inner_text() == "73 %"
    page.locator("#reference_gpu").fill("H100 SXM")
    ask(page)
    page.get_by_text("The same question as curl").click()
    assert page.get_by_role("button", name="Copy as curl").is_visible()
    assert '"utilization":0.73' in page.locator("#curl").inner_text()


def test_faults_stand_by_their_fields(open_page):
    page = open_page()
    ask(page, model="lama 9", tokens_million="many")
    assert "2 values need a change" in page.get_by_role("alert").inner_text()
    model = page.locator("#model")
    assert model.get_attribute("aria-invalid") == "true"
    assert (
        page.locator(f"#{model.get_attribute('aria-describedby').split()[0]}").inner_text().startswith("This name is not known")
    )
    assert page.locator("#tokens_million").input_value() == "many"
    assert faults_for_readers(page) == []


def test_nothing_fits_says_what_to_do_next(open_page):
    page = open_page()
    ask(page, data_sensitivity="local_only")
    assert page.locator(".tag").inner_text().upper() == "NOTHING FITS"
    assert page.locator("#todo ~ ul li").count() >= 2
    assert page.locator("#model").is_visible()  # the question stands open below
    assert faults_for_readers(page) == []


def test_saved_opened_solved_again_and_listed(open_page):
    page = open_page()
    ask(page, runs_per_month="3")
    page.locator("#name").fill(EVIL)
    page.locator("#owner").fill("Ada")
    page.get_by_role("button", name="Save", exact=True).click()
    page.wait_for_url("**/ui/plans/*")
    assert page.locator(".page-title").inner_text().startswith(EVIL)
    page.get_by_role("button", name="Solve it again now").click()
    assert "Equal to the last digit" in page.locator("#change ~ p.hint").inner_text()
    page.get_by_role("link", name="Report", exact=True).click()
    assert page.get_by_role("checkbox", name=EVIL).is_checked()
    assert faults_for_readers(page) == []
    page.locator("#title").fill("Review of <b>one</b> plan")
    page.get_by_role("button", name="Make the report").click()
    opened = page.get_by_role("link", name="Review of <b>one</b> plan as HTML")
    opened.wait_for(timeout=30_000)  # the page loads itself again until the report is made
    assert page.get_by_role("link", name="Review of <b>one</b> plan as PDF").is_visible()
    opened.click()
    assert "Review of <b>one</b> plan" in page.locator("h1").inner_text()
    assert EVIL in page.locator("body").inner_text()


def test_prices_are_filtered_drawn_and_dated(open_page):
    page = open_page("/ui/prices")
    everything = page.locator("#offers").inner_text()
    page.locator("#gpu").fill("H100")
    page.locator("#capacity_type").select_option("on_demand")
    page.get_by_role("button", name="Show").click()
    assert page.locator("#offers").inner_text() != everything
    assert all("H100" in text for text in page.locator("#offers ~ .scroll tbody th").all_inner_texts())
    assert page.locator("#chart-history svg").is_visible()
    assert "reference" in page.locator("#ages ~ .scroll").inner_text()
    assert faults_for_readers(page) == []
    page.locator("#max_usd_per_gpu_hour").fill("0.001")
    page.get_by_role("button", name="Show").click()
    assert "No offer meets all of this" in page.locator("main").inner_text()


def test_providers_tell_their_state_and_are_read_again(open_page):
    page = open_page("/ui/providers")
    row = page.locator("tr", has=page.get_by_role("rowheader", name="vast"))
    assert "disabled" in row.inner_text()
    assert "GPUPLAN_PROVIDERS__VAST__ENABLED=true" in row.inner_text()
    page.get_by_role("button", name="Read reference again").click()
    assert "reference will be read" in page.get_by_role("status").inner_text()
    assert faults_for_readers(page) == []


def test_all_of_it_works_without_a_script(open_page):
    page = open_page(java_script_enabled=False)
    page.locator("#model").fill("llama-3.1-8b")
    page.get_by_role("button", name="Find the cheapest").click()
    page.get_by_text("Cost lines and reasons of #2", exact=True).click()
    assert page.locator("tr.lines").nth(1).locator("table").is_visible()
    page.get_by_text("The same question as curl").click()
    assert page.get_by_role("button", name="Copy as curl").is_hidden()
    page.locator("#name").fill("no script")
    page.locator("#owner").fill("Ada")
    page.get_by_role("button", name="Save", exact=True).click()
    page.wait_for_url("**/ui/plans/*")


def test_by_keyboard_alone(open_page):
    page = open_page()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "model"
    page.keyboard.type("mistral-7b-v0.1")
    page.keyboard.press("Enter")
    page.locator("#verdict").wait_for()


def test_a_phone_in_the_dark_shows_it_without_moving_sideways(open_page):
    page = open_page("/ui/providers", viewport=PHONE, color_scheme="dark")
    for path in ("/ui/prices?gpu=L4", "/"):
        page.goto(path)
        assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"], path
    ask(page, own="default", **{"amount-hours": "", "reference_gpu": "H100 SXM"})
    page.locator("#verdict").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
    assert faults_for_readers(page) == []
