"""The model in the workbook: inputs that may be changed, and the cash flow and decision that follow from them."""

import math
from typing import Any, Final

from service.reports.finance import in_period, left_usd
from service.reports.model import OwnCash, PlanMoney
from service.reports.xlsx_cells import Book, defined_name

INPUTS: Final = "Inputs"
CASH: Final = "Cash flow"
_COLUMNS: Final = ("chosen", "baseline", "own", "rent", "gain", "gained", "paid back")
_TOP: Final = 3  # first row of months, from 0
_DATES: Final = 1


def write_inputs(book: Book) -> None:
    """Named cells with a coloured ground: the workbook follows when they are changed."""
    sheet = book.sheet(INPUTS)
    sheet.set_column(0, 0, 46)
    sheet.set_column(1, 1, 16)
    sheet.set_column(2, 2, 60)
    sheet.set_column(3, 3, 40)
    for column, words in enumerate(("Input", "Value", "Meaning", "Plan")):
        sheet.write_string(0, column, words, book.head)
    report = book.report
    day = "" if report.rate.day is None else f" on {report.rate.day.isoformat()}"
    rows: list[tuple[str, float, str, str]] = [
        ("fx_rate", report.rate.per_usd, f"{report.currency} for one USD{day}", "all"),
        ("horizon_months", float(report.horizon_months), f"months that count, up to {report.horizon_months}", "all"),
    ]
    for number, one in enumerate(report.money, 1):
        rows += [(defined_name(number, name), value, words, one.source.name) for name, value, words in plan_inputs(one)]
    for at, (name, value, words, plan) in enumerate(rows, 1):
        sheet.write_string(at, 0, name)
        sheet.write_number(at, 1, value, book.input)
        sheet.write_string(at, 2, words, book.wrapped)
        sheet.write_string(at, 3, plan, book.wrapped)
        book.fit(sheet, at, {words: 60, plan: 40})
        book.name(name, INPUTS, at, 1)
    whole = {"validate": "integer", "criteria": "between", "minimum": 1, "maximum": report.horizon_months}
    sheet.data_validation(2, 1, 2, 1, whole)
    sheet.data_validation(1, 1, 1, 1, {"validate": "decimal", "criteria": ">", "value": 0})
    sheet.freeze_panes(1, 1)
    book.finish(sheet, len(rows), 3)


def plan_inputs(money: PlanMoney) -> list[tuple[str, float, str]]:
    """Name, value and meaning of what a plan's cash flow follows from."""
    of = "a month" if money.recurring else "once"
    found = [
        ("recurring", 1.0 if money.recurring else 0.0, "1 = every month, 0 = once"),
        ("chosen_usd", 0.0 if money.chosen is None else money.chosen.usd, f"recommended, USD {of}"),
        ("baseline_usd", 0.0 if money.baseline is None else money.baseline.usd, f"baseline, USD {of}"),
        ("rent_usd", 0.0 if money.rent is None else money.rent.usd, f"cheapest rent, USD {of}"),
    ]
    if (own := _own(money)) is not None:
        found += [
            ("chosen_is_own", 1.0 if money.chosen is money.own else 0.0, "1 = the hardware that is bought is recommended"),
            ("discount_rate", money.rate_fraction, "a year"),
            ("capex_usd", own.capex_usd, "purchase with network and spares, USD"),
            ("resale_usd", own.resale_usd, "at the end of its life, USD"),
            ("life_months", float(own.life_months), "months of use"),
            ("lead_months", float(own.lead_months), "months from the order until it runs"),
        ]
        found += [(f"own_{name}_usd", usd, f"own {name.replace('_', ' ')}, USD {of}") for name, usd in own.lines.items()]
    return found


def _own(money: PlanMoney) -> OwnCash | None:
    return None if money.own is None else money.own.own


def write_options(book: Book) -> None:
    """Every option of every plan, its horizon total live."""
    sheet, report = book.sheet("Options"), book.report
    heads = ("Plan", "Rank", "Option", "Flags", "USD a month or once", "Low, USD", "High, USD", "Horizon, USD")
    for column, words in enumerate(
        (*heads, f"Horizon ({report.currency})", "USD per GPU-hour", "USD per run", "USD per million tokens")
    ):
        sheet.write_string(0, column, words, book.head)
    row = 0
    for number, one in enumerate(report.money, 1):
        name = defined_name(number, "recurring")
        months = report.horizon_months if one.recurring else 1
        for way in one.ways if one.own is None or one.own in one.ways else (*one.ways, one.own):
            row += 1
            sheet.write_string(row, 0, one.source.name, book.wrapped)
            sheet.write_number(row, 1, way.rank)
            sheet.write_string(row, 2, way.label, book.wrapped)
            sheet.write_string(row, 3, ", ".join(way.flags), book.wrapped)
            book.fit(sheet, row, {one.source.name: 26, way.label: 64, ", ".join(way.flags): 36})
            for column, usd in enumerate((way.usd, way.low_usd, way.high_usd), 4):
                sheet.write_number(row, column, usd, book.usd)
            at = row + 1
            book.formula(sheet, row, 7, f"=E{at}*IF({name}=1,horizon_months,1)", way.usd * months, book.usd)
            book.live(sheet, row, 8, f"=H{at}*fx_rate", way.usd * months * report.rate.per_usd)
            for column, each in enumerate((way.usd_per_gpu_hour, way.usd_per_run, way.usd_per_million_tokens), 9):
                if each is not None:
                    sheet.write_number(row, column, each, book.price)
    for column, width in enumerate((26, 6, 64, 36, 16, 14, 14, 16, 16, 14, 12, 14)):
        sheet.set_column(column, column, width)
    sheet.freeze_panes(1, 3)
    book.finish(sheet, row, 11)


def write_cash(book: Book) -> dict[str, Any]:
    """Month by month from the inputs. Returns where the sums stand, with their values."""
    sheet, report = book.sheet(CASH), book.report
    months = report.horizon_months
    sheet.write_string(0, 0, "Cash flow by month, USD", book.title)
    sheet.write_string(2, 0, "Month number", book.head)
    sheet.write_string(2, _DATES, "Month", book.head)
    for at in range(months):
        sheet.write_number(_TOP + at, 0, at)
        sheet.write_datetime(_TOP + at, _DATES, report.money[0].months[at].first_day, book.month)
    sheet.set_column(0, 1, 10)
    sums: dict[int, dict[str, tuple[str, float]]] = {}
    for number, one in enumerate(report.money, 1):
        first = 2 + (number - 1) * len(_COLUMNS)
        sheet.write_string(1, first, one.source.name, book.head)
        for offset, words in enumerate(_COLUMNS):
            sheet.write_string(2, first + offset, words, book.head)
        sums[number] = _write_plan(book, sheet, number, one, first)
    last = 1 + len(report.money) * len(_COLUMNS)
    sheet.set_column(2, last, 13)
    sheet.freeze_panes(_TOP, 2)
    book.finish(sheet, _TOP + months + 1, last)
    return {"sums": sums, "first": _TOP + 1, "last": _TOP + months, "totals": {}}


def _write_plan(book: Book, sheet: Any, number: int, money: PlanMoney, first: int) -> dict[str, tuple[str, float]]:
    from xlsxwriter.utility import xl_col_to_name

    chosen, baseline, own, rent, gain, gained, back = (xl_col_to_name(first + offset) for offset in range(len(_COLUMNS)))
    recurring, has_own = defined_name(number, "recurring"), _own(money) is not None
    total = 0.0
    for at, month in enumerate(money.months):
        row, n = _TOP + at, f"$A{_TOP + at + 1}"
        in_time = f"{n}<horizon_months"
        every = f"AND({in_time},OR({recurring}=1,{n}=0))"

        def plain(name: str, is_paid: str = every) -> str:
            return f"IF({is_paid},{defined_name(number, name)},0)"

        own_cell = f"{own}{row + 1}"
        chosen_formula = f"=IF({defined_name(number, 'chosen_is_own')}=1,{own_cell},{plain('chosen_usd')})" if has_own else None
        book.formula(sheet, row, first, chosen_formula or f"={plain('chosen_usd')}", month.chosen_usd, book.usd)
        book.formula(sheet, row, first + 1, f"={plain('baseline_usd')}", month.baseline_usd, book.usd)
        book.formula(sheet, row, first + 3, f"={plain('rent_usd')}", month.rent_usd, book.usd)
        if month.own_usd is None or not has_own:
            continue
        book.formula(sheet, row, first + 2, _own_formula(number, money, n), month.own_usd, book.usd)
        saved, before = month.rent_usd - month.own_usd, total
        total += saved
        book.formula(sheet, row, first + 4, f"={rent}{row + 1}-{own_cell}", saved, book.usd)
        previous = f"{gained}{row}" if at else "0"
        book.formula(sheet, row, first + 5, f"={previous}+{gain}{row + 1}", total, book.usd)
        paid: float | str = at - before / saved if before < 0 <= total else ""
        formula = f'=IF(AND({previous}<0,{gained}{row + 1}>=0,{in_time}),{n}-{previous}/{gain}{row + 1},"")'
        book.formula(sheet, row, first + 6, formula, paid, book.price)
    return _write_sums(
        book, sheet, money, first, {"chosen": chosen, "baseline": baseline, "own": own, "rent": rent, "gain": gain, "back": back}
    )


def _own_formula(number: int, money: PlanMoney, n: str) -> str:
    def of(name: str) -> str:
        return defined_name(number, name)

    own = _own(money)
    running = "+".join(of(f"own_{name}_usd") for name in own.lines) if own is not None and own.lines else "0"
    lead, life, recurring = of("lead_months"), of("life_months"), of("recurring")
    rented = f"IF(OR({recurring}=1,{n}=0),{of('rent_usd')},0)"
    used = f"IF(OR({recurring}=1,{n}={lead}),{running},0)-IF({n}={lead}+{life}-1,{of('resale_usd')},0)"
    return (
        f"=IF({n}>=horizon_months,0,IF({n}=0,{of('capex_usd')},0)+IF(OR({n}<{lead},{n}>={lead}+{life}),{rented},{used}))"
    )  # fmt: skip


def _write_sums(book: Book, sheet: Any, money: PlanMoney, first: int, letters: dict[str, str]) -> dict[str, tuple[str, float]]:
    months, report = book.report.horizon_months, book.report
    row, top, last = _TOP + months, _TOP + 1, _TOP + months
    values = {
        "chosen": math.fsum(one.chosen_usd for one in money.months),
        "baseline": math.fsum(one.baseline_usd for one in money.months),
        "own": math.fsum(one.own_usd or 0.0 for one in money.months),
        "rent": math.fsum(one.rent_usd for one in money.months),
    }
    found: dict[str, tuple[str, float]] = {}
    sheet.write_string(row, 0, "Total", book.head)
    for offset, (name, value) in enumerate(values.items()):
        letter = letters[name]
        book.formula(sheet, row, first + offset, f"=SUM({letter}{top}:{letter}{last})", value, book.usd_bold)
        found[name] = (f"'{CASH}'!{letter}{row + 1}", value)
    dates = f"'{CASH}'!$B${top}:$B${last}"
    begins, ends = report.period
    start, end = f"DATE({begins.year},{begins.month},1)", f"DATE({ends.year},{ends.month},{ends.day})"
    column = f"'{CASH}'!{letters['chosen']}${top}:{letters['chosen']}${last}"
    found["period"] = (f"SUMPRODUCT(({dates}>={start})*({dates}<={end})*{column})", in_period(money, report.period))
    for name in ("gain", "back"):
        found[name] = (f"'{CASH}'!{letters[name]}${top}:{letters[name]}${last}", 0.0)
    return found


def write_decisions(book: Book, cash: dict[str, Any]) -> None:
    """Net present value and payback of each plan with hardware to be bought, live."""
    sheet, report = book.sheet("Decision"), book.report
    heads = (
        "Plan",
        "Verdict",
        "Value left, USD",
        "Net present value of owning, USD",
        f"The same ({report.currency})",
        "Payback, months",
    )
    for column, words in enumerate(heads):
        sheet.write_string(0, column, words, book.head)
    row = 0
    for number, one in enumerate(report.money, 1):
        own = _own(one)
        if own is None or one.npv_own_usd is None:
            continue
        row += 1
        sums, months = cash["sums"][number], f"'{CASH}'!$A${cash['first']}:$A${cash['last']}"
        sheet.write_string(row, 0, one.source.name, book.wrapped)
        sheet.write_string(row, 1, one.source.plan.decision.sentence, book.wrapped)
        book.fit(sheet, row, {one.source.name: 28, one.source.plan.decision.sentence: 70})
        book.formula(sheet, row, 2, _left_formula(number), left_usd(own, report.horizon_months), book.usd)
        rate = defined_name(number, "discount_rate")
        worth = f"SUMPRODUCT({sums['gain'][0]}*(1+{rate})^(-({months}+1)/12))"
        book.formula(sheet, row, 3, f"={worth}+C{row + 1}*(1+{rate})^(-horizon_months/12)", one.npv_own_usd, book.usd)
        book.live(sheet, row, 4, f"=D{row + 1}*fx_rate", one.npv_own_usd * report.rate.per_usd)
        back = sums["back"][0]
        paid: float | str = "not within" if one.payback_months is None else one.payback_months
        book.formula(sheet, row, 5, f'=IF(COUNT({back})=0,"not within",MIN({back}))', paid, book.price)
    for column, width in enumerate((28, 70, 18, 22, 18, 16)):
        sheet.set_column(column, column, width)
    sheet.freeze_panes(1, 1)
    book.finish(sheet, row, 5)


def _left_formula(number: int) -> str:
    def of(name: str) -> str:
        return defined_name(number, name)

    used = f"MAX(0,horizon_months-{of('lead_months')})"
    worth = f"{of('capex_usd')}-({of('capex_usd')}-{of('resale_usd')})*{used}/{of('life_months')}"
    return f"=IF({used}>={of('life_months')},0,{worth})"
