"""The workbook: named inputs, live formulas with their values, checks that hold, and what LibreOffice makes of it."""

import io
import re
import shutil
import subprocess
import zipfile
from datetime import date

import openpyxl
import pytest

from service.domain.report import ExchangeRate
from service.reports.build import build_report
from service.reports.xlsx import render

EURO = ExchangeRate(currency="EUR", per_usd=0.9, day=date(2026, 9, 18), source="test")
RECALCULATE = """<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry">
<item oor:path="/org.openoffice.Office.Calc/Formula/Load">
<prop oor:name="OOXMLRecalcMode" oor:op="fuse"><value>0</value></prop></item>
</oor:items>"""


@pytest.fixture(scope="module")
def book(review, busy, rare, once):
    """The bytes over hardware that is bought, work that is rented, and single runs."""
    return render(build_report(review((busy, "training"), (rare, "tuning"), (once, "trial"), rate=EURO, months=30)))


def formulas(book):
    found = openpyxl.load_workbook(io.BytesIO(book))
    return {
        (sheet.title, cell.coordinate): cell.value
        for sheet in found
        for row in sheet.iter_rows()
        for cell in row
        if cell.data_type == "f"
    }


def values(book):
    found = openpyxl.load_workbook(io.BytesIO(book), data_only=True)
    return {(sheet.title, cell.coordinate): cell.value for sheet in found for row in sheet.iter_rows() for cell in row}


def recalculated(book, folder):
    """The workbook as LibreOffice saves it when it has reckoned every formula anew."""
    office = shutil.which("soffice")
    if office is None:
        pytest.skip("LibreOffice is not installed (Debian: libreoffice-calc --no-install-recommends)")
    profile, out = folder / "profile", folder / "out"
    (profile / "user").mkdir(parents=True)
    (profile / "user" / "registrymodifications.xcu").write_text(RECALCULATE, encoding="utf-8")
    (folder / "book.xlsx").write_bytes(book)
    command = [office, f"-env:UserInstallation=file://{profile}", "--headless", "--convert-to", "xlsx", "--outdir", str(out)]
    subprocess.run([*command, str(folder / "book.xlsx")], check=True, capture_output=True, timeout=170)
    return (out / "book.xlsx").read_bytes()


def is_same(one, other):
    if one in ("", None) and other in ("", None):
        return True
    if isinstance(one, int | float) and isinstance(other, int | float):
        return abs(one - other) <= 1e-6 * max(1.0, abs(one))
    return one == other


def with_wrong_value(book, sheet, cell, wrong):
    """The workbook with another stored value behind one formula, which stays as it is."""
    names = openpyxl.load_workbook(io.BytesIO(book)).sheetnames
    path = f"xl/worksheets/sheet{names.index(sheet) + 1}.xml"
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(book)) as given, zipfile.ZipFile(out, "w") as changed:
        for name in given.namelist():
            content = given.read(name)
            if name == path:
                text, count = re.subn(rf'(<c r="{cell}"[^>]*><f>[^<]*</f><v>)[^<]*', rf"\g<1>{wrong}", content.decode())
                assert count == 1
                content = text.encode()
            changed.writestr(name, content)
    return out.getvalue()


def test_every_formula_carries_its_value(book):
    stored = values(book)
    found = formulas(book)
    assert len(found) > 300
    assert not [place for place in found if stored[place] is None and place[0] != "Cash flow"]  # "not paid back yet" is empty
    kinds = {type(stored[place]) for place in found}
    assert kinds <= {int, float, bool, str, type(None)}


def test_checks_are_all_true(book):
    checks = {place: value for place, value in values(book).items() if place[0] == "Checks" and place[1].startswith("B")}
    assert len(checks) > 12
    assert [value for place, value in checks.items() if place[1] != "B1" and value is not True] == []


def test_inputs_have_names_that_formulas_use(book):
    named = openpyxl.load_workbook(io.BytesIO(book)).defined_names
    text = " ".join(str(value) for value in formulas(book).values())
    assert {"fx_rate", "horizon_months", "plan1_capex_usd", "plan1_own_staff_usd", "plan2_rent_usd", "all_checks"} <= named.keys()
    print_areas = {"Print_Area", "Print_Titles"}
    assert [name for name in named if name not in text and name not in print_areas and name != "all_checks"] == []


def test_sheets_are_ready_to_print_and_to_read(book):
    for sheet in openpyxl.load_workbook(io.BytesIO(book)):
        assert sheet.print_area, sheet.title
        assert sheet.freeze_panes, sheet.title
        assert "input" in sheet.oddFooter.left.text, sheet.title
        assert sheet.page_setup.orientation == "landscape"


def test_the_same_report_gives_the_same_bytes(book, review, busy, rare, once):
    again = render(build_report(review((busy, "training"), (rare, "tuning"), (once, "trial"), rate=EURO, months=30)))
    assert again == book


def test_libreoffice_comes_to_the_same_figures_and_all_checks_hold(book, tmp_path):
    wrong = with_wrong_value(book, "Decision", "D2", "123456")
    assert values(wrong)[("Decision", "D2")] == 123456
    anew = values(recalculated(wrong, tmp_path))
    stored = values(book)
    # The wrong value was corrected, so the conversion does reckon; only then do equal figures say anything.
    assert is_same(stored[("Decision", "D2")], anew[("Decision", "D2")])
    differ = {place: (stored[place], anew.get(place)) for place in formulas(book) if not is_same(stored[place], anew.get(place))}
    assert differ == {}
    checks = [value for place, value in anew.items() if place[0] == "Checks" and re.fullmatch(r"B([2-9]|\d\d)", place[1])]
    assert set(checks) == {True}


def test_the_model_follows_when_an_input_is_changed(book, review, busy, tmp_path):
    """Twice the purchase price, changed in the workbook, is what a report with that price says."""
    changed = openpyxl.load_workbook(io.BytesIO(book))
    inputs = changed["Inputs"]
    row = next(row for row in range(1, inputs.max_row + 1) if inputs.cell(row, 1).value == "plan1_capex_usd")
    inputs.cell(row, 2).value = 240_000
    edited = io.BytesIO()
    changed.save(edited)
    anew = values(recalculated(edited.getvalue(), tmp_path))
    before = values(book)
    # paid a month later by the discount of 10 % a year: 120,000 x 1.1^(-1/12) less present value; nothing else moves,
    # but the hardware's last months, where it is still worth nothing: 30 months are over its life of 24 behind 2 of lead
    less = 120_000 * 1.1 ** (-1 / 12)
    assert anew[("Decision", "D2")] == pytest.approx(before[("Decision", "D2")] - less, abs=0.01)
    checks = [value for place, value in anew.items() if place[0] == "Checks" and re.fullmatch(r"B([2-9]|\d\d)", place[1])]
    assert set(checks) == {True}
