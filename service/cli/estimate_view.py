"""How an estimate looks in a terminal: parts of the need, a bar per card, what fits where, and the rule of thumb beside it."""

from typing import Any, Final

from rich.markup import escape

from service.cli.render import about, console, table
from service.domain.estimation import EstimateAnswer, GpuFit, GroupFit, RuleOfThumb

PART_BAR: Final = 40
CARD_BAR: Final = 30  # characters that stand for the card's usable memory
LONGEST_BAR: Final = 45
_LETTERS: Final = {
    "weights": "W", "cast_weights": "W", "dequantised": "W", "fused_copies": "W", "adapters": "S", "gradients": "S",
    "optimizer": "S", "master_copy": "S", "step_temporary": "S", "kv_cache": "K",
    "activations": "A", "logits": "A", "workspace": "A", "rotary": "A",
}  # fmt: skip
_REST: Final = "O"
LEGEND: Final = (
    "W weights, S gradients and states, A activations and logits, K cache, O overhead, + the safe margin, | the card's limit"
)


def show(answer: EstimateAnswer) -> None:
    """The whole answer on stdout."""
    out = console()
    out.print(f"[bold]{escape(answer.summary)}[/bold]")
    out.print(escape(answer.requirement.explained))
    out.print(_parts(answer))
    out.print(_cards(answer))
    out.print(LEGEND, style="dim")
    out.print(_counts(answer))
    for card in answer.gpus:
        for group in card.groups:
            if group.low_headroom:
                out.print(f"! {group.gpu_count}x {card.gpu}: little headroom; {escape('; '.join(group.advice))}")
    out.print(_rule(answer.rule_of_thumb))
    out.print(escape(answer.rule_of_thumb.explained))
    for assumption in answer.assumptions:
        out.print(f"assumed: {assumption.name} = {assumption.value} {assumption.unit} ({escape(assumption.source)})", style="dim")
    if answer.tokens_per_run:
        out.print(f"Hours are for one run of {about(answer.tokens_per_run)} tokens: low to high.", style="dim")


def _parts(answer: EstimateAnswer) -> Any:
    """The need by part on the smallest group that fits."""
    fitting = [one for one in answer.requirement.by_strategy if one.fits] or list(answer.requirement.by_strategy)
    least = min(fitting, key=lambda one: (one.gpu_count, one.safe_gib))
    widest = max(part.gib for part in least.parts)
    made = table("PART", "GiB", "", right=("GiB",), title=f"One GPU of {least.gpu_count:g}x {least.gpu}, {least.strategy}")
    for part in least.parts:
        made.add_row(part.name, f"{part.gib:.2f}", "█" * max(1 if part.gib > 0 else 0, round(PART_BAR * part.gib / widest)))
    made.add_row("point estimate", f"{least.point_gib:.2f}", "", style="bold")
    made.add_row("safe value (decides what fits)", f"{least.safe_gib:.2f}", f"of {least.usable_gib:.2f} usable", style="bold")
    return made


def _by_need(cards: tuple[GpuFit, ...]) -> list[GpuFit]:
    return sorted(cards, key=lambda one: (one.smallest_gpu_count or 1_000, one.memory_gb, one.gpu))


def _cards(answer: EstimateAnswer) -> Any:
    """One bar per card, on the fewest GPUs that run it."""
    made = table("GPU", "GPUS", "GiB OF USABLE", "NEED OF ONE GPU", "OR WITH", right=("GPUS", "GiB OF USABLE"))
    for card in _by_need(answer.gpus):
        group = next(one for one in card.groups if one.gpu_count == card.shown_gpu_count)
        need = f"{group.need_gib:.1f} of {group.usable_gib:.1f}"
        other = card.would_fit_with
        change = f"{other.gpu_count}x: {' and '.join(other.settings)}" if other else ""
        made.add_row(card.gpu, str(group.gpu_count), need, bar(card, group), escape(change))
    return made


def bar(card: GpuFit, group: GroupFit) -> str:
    """Letters in proportion to the parts, a plus per share of the safe margin; the card's limit stands as a stroke."""
    scale = CARD_BAR / group.usable_gib
    text, done = "", 0.0
    for part in sorted(card.parts, key=lambda one: "WSAKO".index(_LETTERS.get(one.name, _REST))):
        done += part.gib * scale
        text += _LETTERS.get(part.name, _REST) * max(0, round(done) - len(text))
    text += "+" * max(0, round(group.need_gib * scale) - len(text))
    if len(text) > LONGEST_BAR:
        text = text[: LONGEST_BAR - 1] + ">"
    return f"{text[:CARD_BAR].ljust(CARD_BAR, '·')}|{text[CARD_BAR:]}"


def _counts(answer: EstimateAnswer) -> Any:
    counts = [group.gpu_count for group in answer.gpus[0].groups]
    made = table("GPU", "GB", *(f"{count} GPU{'s' if count > 1 else ''}" for count in counts), right=("GB",))
    for card in _by_need(answer.gpus):
        made.add_row(card.gpu, f"{card.memory_gb:g}", *(escape(_cell(group)) for group in card.groups))
    return made


def _cell(group: GroupFit) -> str:
    if not group.fits:
        return f"- {-group.headroom_gib:.1f} GiB short" if group.reason == "vram" else f"- {group.reason}"
    flag = " !" if group.low_headroom else ""
    if group.hours is not None:
        return f"{group.strategy} {about(group.hours.low)}-{about(group.hours.high)} h{flag}"
    rate = group.tokens_per_second
    return f"{group.strategy} {about(rate.mid)} tok/s{flag}" if rate else f"{group.strategy}{flag}"


def _rule(rule: RuleOfThumb) -> Any:
    """The rule of thumb beside ours, part by part."""
    title = f"Rule of thumb ({rule.bytes_per_parameter:.3g} bytes a parameter) beside ours, on one GPU"
    made = table("PART", "RULE GiB", "OURS GiB", "WHY", right=("RULE GiB", "OURS GiB"), title=title)
    for one in rule.differences:
        made.add_row(one.part.replace("_", " "), f"{one.rule_gib:.1f}", f"{one.ours_gib:.1f}", escape(one.why))
    made.add_row("all", f"{rule.rule_gib:.1f}", f"{rule.ours_gib:.1f}", "", style="bold")
    return made
