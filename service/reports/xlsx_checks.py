"""Checks of the workbook: what must hold whatever is changed in the inputs; every cell is TRUE."""

from typing import Any, Final

from service.reports.model import PlanMoney, Report
from service.reports.xlsx_cells import Book, defined_name
from service.reports.xlsx_model import CASH
from service.solver.change import cost_change

CENT: Final = 0.005


def write_checks(book: Book, cash: dict[str, Any]) -> None:
    """One row per check and the cell `all_checks` over all of them."""
    sheet = book.sheet("Checks")
    sheet.set_column(0, 0, 90)
    sheet.set_column(1, 1, 10)
    sheet.write_string(0, 0, "Check", book.head)
    sheet.write_string(0, 1, "Holds", book.head)
    rows = _checks(book.report, cash)
    for at, (words, formula) in enumerate(rows, 1):
        sheet.write_string(at, 0, words, book.wrapped)
        book.formula(sheet, at, 1, f"={formula}", True, book.truth)
    last = len(rows) + 1
    sheet.write_string(last, 0, "All checks", book.head)
    book.formula(sheet, last, 1, f"=AND(B2:B{last})", True, book.truth)
    book.name("all_checks", "Checks", last, 1)
    sheet.freeze_panes(1, 1)
    book.finish(sheet, last, 1)


def _checks(report: Report, cash: dict[str, Any]) -> list[tuple[str, str]]:
    found = [
        ("The exchange rate is over 0", "fx_rate>0"),
        ("The horizon is a whole number of months within the cash flow", _horizon(report.horizon_months)),
        (
            "Every month of the cash flow has its number",
            f"COUNT('{CASH}'!$A${cash['first']}:$A${cash['last']})={report.horizon_months}",
        ),
    ]
    for number, one in enumerate(report.money, 1):
        found += _of_plan(number, one, cash)
    parts = "+".join(f"{cash['sums'][number]['chosen'][0]}" for number in cash["sums"])
    found.append(
        ("The summary's horizon total is the sum of the cash flows", f"ABS({cash['totals']['chosen']}-({parts})*fx_rate)<{CENT}")
    )
    totals = cash["totals"]
    wanted = f"ABS({totals['difference']}-({totals['chosen']}-{totals['baseline']}))<{CENT}"
    found.append(("The summary's difference is its horizon total less its baseline", wanted))
    found.append(
        ("The period costs no more than the months that are paid in it", f"{totals['period']}<={_paid(cash)}*fx_rate+{CENT}")
    )
    return found


def _horizon(months: int) -> str:
    return f"AND(horizon_months>=1,horizon_months<={months},horizon_months=INT(horizon_months))"


def _paid(cash: dict[str, Any]) -> str:
    """Everything that is paid at all: resale apart, no month is under 0."""
    columns = []
    for sums in cash["sums"].values():
        letter = sums["chosen"][0].partition("!")[2].rstrip("0123456789")
        columns.append(f"SUMIF('{CASH}'!{letter}{cash['first']}:{letter}{cash['last']},\">0\")")
    return f"({'+'.join(columns)})"


def _of_plan(number: int, money: PlanMoney, cash: dict[str, Any]) -> list[tuple[str, str]]:
    name, sums = f"Plan {number}", cash["sums"][number]
    recurring, baseline = defined_name(number, "recurring"), defined_name(number, "baseline_usd")
    times = f"IF({recurring}=1,horizon_months,1)"
    found = [
        (
            f"{name}: the baseline's cash flow is its amount times its months",
            f"ABS({sums['baseline'][0]}-{baseline}*{times})<{CENT}",
        ),
        (f"{name}: what recurs is said by 1 or 0", f"OR({recurring}=1,{recurring}=0)"),
    ]
    if money.chosen is not None:
        lines = "+".join(repr(float(usd)) for usd in money.chosen.lines.values()) or "0"
        found.append(
            (f"{name}: the recommendation's lines add up to it, as delivered", f"ABS(({lines})-{money.chosen.usd!r})<{CENT}")
        )
    if money.npv_own_usd is not None:
        capex, resale = defined_name(number, "capex_usd"), defined_name(number, "resale_usd")
        found.append((f"{name}: hardware resells for no more than it cost", f"AND({resale}>=0,{resale}<={capex})"))
        found.append(
            (
                f"{name}: the gains add up to rent less own",
                f"ABS(SUM({sums['gain'][0]})-({sums['rent'][0]}-{sums['own'][0]}))<{CENT}",
            )
        )
    if money.source.before is not None:
        moved = cost_change(money.source.before, money.source.plan)
        if moved.difference_usd is not None:
            effects = f"{moved.price_usd!r}+{moved.volume_usd!r}+{moved.mix_usd!r}"
            found.append(
                (f"{name}: price, volume and mix add up to the change", f"ABS(({effects})-({moved.difference_usd!r}))<0.000001")
            )
    return found
