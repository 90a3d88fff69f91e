"""Lexer: a line of text as terminals of the grammar, each with its place. A word that is none of them is a Complaint."""

import re
from collections.abc import Iterator
from typing import Any, Final

from lark import Token
from lark.lexer import Lexer

from providers.gpus import select_gpus
from providers.places import country_of, members_of
from service.chat.complaint import Complaint
from service.chat.lexicon import MAX_WORDS, Lexicon, gpu_key, word_key
from service.estimate.models import MODELS, name_key

_NUM: Final = r"\d{1,12}(?:\.\d{1,18})?"
_END: Final = r"(?![\w.])"
_PATTERNS: Final[tuple[tuple[str, re.Pattern[str]], ...]] = tuple(
    (name, re.compile(pattern, re.IGNORECASE | re.ASCII))
    for name, pattern in (
        ("AFTER_COUNT", rf":(\d{{1,6}}){_END}"),
        ("PER_GPU_HOUR", rf"/\s?gpu\s?[-/]\s?(?:hour|hr|h){_END}|/\s?(?:hour|hr|h)\s?/\s?gpu{_END}"),
        ("PER_HOUR", rf"/\s?(?:hour|hr|h){_END}"),
        ("PER_MONTH", rf"/\s?(?:month|mo){_END}"),
        ("MONEY", rf"\$\s?({_NUM}){_END}|({_NUM})\s?(?:\$|usd|dollars?){_END}"),
        ("TOKENS", rf"({_NUM})\s?([kmbt]?)\s?(?:tokens?|tok){_END}"),
        ("RATE", rf"({_NUM})\s?(?:rps|req/s|requests?/s|requests? per second|requests? a second){_END}"),
        ("RUNS", rf"({_NUM})\s?runs?{_END}"),
        ("EXPERTS", rf"(\d{{1,4}}x{_NUM}b){_END}"),
        ("SIZE", rf"({_NUM})\s?b{_END}"),
        ("PERCENT", rf"([+-]?{_NUM})\s?%"),
        ("DURATION", rf"({_NUM})\s?(min|minutes?|h|hrs?|hours?|d|days?|w|weeks?|mo|months?|y|years?){_END}"),
        ("COUNT", r"(\d{1,6})\s?x\s?(?=[a-z])"),
        ("INT", rf"(\d{{1,6}}){_END}"),
    )
)
_COMMA_NUMBER: Final = re.compile(r"(?:\$\s?)?\d+,\d+", re.ASCII)
_FOREIGN: Final = re.compile(r"[€£¥]\s?[\d.,]*|[\d.]+\s?(?:€|£|¥|(?:eur|gbp|euros?)\b)", re.IGNORECASE)
_WORD: Final = re.compile(r"[^\s,]+")
_SEPARATOR: Final = re.compile(r"\s*,\s*|\s+")
_WATCH_ID: Final = re.compile(rf"([0-9a-f]{{8,32}}){_END}")
_HOSTS: Final = ("aws", "lambda", "azure", "gcp", "oci", "nebius", "digitalocean")
_RUNPOD_REGION: Final = re.compile(r"[a-z]{2,3}-[a-z]{2}-\d{1,2}", re.IGNORECASE | re.ASCII)


class Terminals(Lexer):
    """What Lark is given instead of a lexer of its own: the terminals are made before."""

    def __init__(self, _conf: Any) -> None:
        pass

    def lex(self, data: Any) -> Iterator[Token]:  # type: ignore[override]  # the documented form of an own lexer
        """The terminals as they are."""
        yield from data


def terminals_of(text: str, words: Lexicon) -> list[Token]:
    """The terminals of a line.

    Raises:
        Complaint: a word is unknown (the nearest known are named), a number has a comma, or money is not in dollars.
    """
    return list(_Scan(text, words).run())


class _Scan:
    """One pass over a line."""

    def __init__(self, text: str, words: Lexicon) -> None:
        self.text, self.words, self.at = text, words, 0
        self.before: list[str] = []  # terminals so far
        self.last_gpu = ""

    def run(self) -> Iterator[Token]:
        while (start := self._skipped()) < len(self.text):
            token = self._next(start)
            self.at = token.end_pos or len(self.text)
            self.before.append(token.type)
            yield token

    def _skipped(self) -> int:
        """Where the next word begins; a comma in a list stays a word of its own."""
        found = re.compile(r"\s*").match(self.text, self.at)
        return found.end() if found else self.at

    def _next(self, start: int) -> Token:
        """The terminal at `start`."""
        if self.before[-1:] == ["UNWATCH"] and (found := _WATCH_ID.match(self.text, start)):
            return _token("WATCH_ID", found[1], start, found.end())
        if self._wants_place() and (place := self._place(start)):
            return place
        if self.text[start] == ",":
            return _token("OR", ",", start, start + 1)
        self._refuse_numbers(start)
        return self._pattern(start) or self._phrase(start) or self._unknown(start)

    def _wants_place(self) -> bool:
        listed = self.before[-2:] == ["PLACE", "OR"]
        return listed or self.before[-1:] == ["IN"]

    def _place(self, start: int) -> Token | None:
        """The longest run of words that names a country, a group of countries or a region; None: a duration, say."""
        for end, part in self._windows(start, 4):
            if part.lower() in ("or", "and"):
                continue
            place = _place_named(part)
            if place is not None:
                return _token("PLACE", place, start, end)
        return None

    def _refuse_numbers(self, start: int) -> None:
        if found := _FOREIGN.match(self.text, start):
            raise self._complaint("prices are in US dollars: write the amount with $", start, found.end())
        if found := _COMMA_NUMBER.match(self.text, start):
            raise self._complaint(
                "a comma in a number can be read two ways: write 2.50 or 2000 without a comma", start, found.end()
            )

    def _pattern(self, start: int) -> Token | None:
        for name, pattern in _PATTERNS:
            found = pattern.match(self.text, start)
            if found is None:
                continue
            groups = tuple(part for part in found.groups() if part is not None)  # the amount, and its unit if it has one
            if name == "EXPERTS":
                return self._experts(found[1], start, found.end())
            if name == "AFTER_COUNT" and (self.before[-1:] != ["GPU"] or start != self.at):
                continue
            return _token(name, groups or found[0], start, found.end())
        return None

    def _experts(self, size: str, start: int, end: int) -> Token:
        """8x7b: the one model of the table that is called so."""
        found = [name for name in MODELS if name.lower().endswith("-" + size.lower())]
        if len(found) == 1:
            return _token("MODEL", found[0], start, end)
        known = [name for name in MODELS if re.search(r"-\d+x\d+b$", name, re.IGNORECASE)]
        raise self._complaint("no model of this shape is known: name it, or give its size as 47b", start, end, known)

    def _phrase(self, start: int) -> Token | None:
        """The longest run of words that is a keyword, a card or a model; a keyword ends a longer name."""
        for end, part in self._windows(start, MAX_WORDS):
            if (word := self.words.keywords.get(word_key(part))) is not None:
                return _token(word.terminal, word.value, start, end)
            if self._ends_in_keyword(part):
                continue
            if (gpu := self.words.gpus.get(gpu_key(part))) is not None:
                return self._card(gpu, start, end)
            models = self.words.models.get(name_key(part), ())
            if len(models) == 1:
                return _token("MODEL", models[0], start, end)
            if models:
                raise self._complaint("the name fits more than one model", start, end, models)
        return None

    def _card(self, gpu: str, start: int, end: int) -> Token:
        self.last_gpu = gpu
        return _token("GPU", gpu, start, end)

    def _ends_in_keyword(self, part: str) -> bool:
        last = part.split()[-1]
        return last != part and word_key(last) in self.words.keywords

    def _windows(self, start: int, most: int) -> Iterator[tuple[int, str]]:
        """Runs of words from `start`, the longest first; a comma or a colon and a count end one."""
        ends: list[int] = []
        at = start
        while len(ends) < most and (found := _WORD.match(self.text, at)):
            counted = re.search(r":\d+$", found[0])
            ends.append(found.end() - (len(counted[0]) if counted else 0))
            if counted:
                break
            gap = re.compile(r"\s+").match(self.text, found.end())
            if gap is None:
                break
            at = gap.end()
        for end in reversed(ends):
            yield end, self.text[start:end]

    def _unknown(self, start: int) -> Token:
        found = _WORD.match(self.text, start)
        end = found.end() if found else start + 1
        word = self.text[start:end]
        if self._wants_place():
            raise self._complaint("no country, group of countries or region is called this", start, end, _near(word, _places()))
        if self.before[-1:] == ["GPU"] and re.fullmatch(r"[\d.]+gi?b?", word, re.IGNORECASE):
            raise self._complaint("no variant of this card has this memory", start, end, self._memories())
        near = _near(word, self.words.suggestions())
        longer = next((part for _, part in self._windows(start, 2)), word)
        if longer != word:
            near = list(dict.fromkeys([*_near(longer, self.words.suggestions(), 80), *near]))[:3]
        if not self.before and not near:
            near = ["cheapest 70b qlora", "help"]
        raise self._complaint("this word is not known", start, end, near)

    def _memories(self) -> list[str]:
        return sorted({f"{gpu.memory_gb:g}GB" for gpu in select_gpus(self.last_gpu)})

    def _complaint(self, message: str, start: int, end: int, allowed: Any = ()) -> Complaint:
        return Complaint(message, text=self.text, start=start, end=end, allowed=tuple(allowed)[:5])


def _token(name: str, value: Any, start: int, end: int) -> Token:
    token = Token(name, name, start_pos=start, end_pos=end)  # a token is text: an empty one would count as none
    token.value = value
    return token


def _place_named(text: str) -> str | None:
    """A residency word: EU, EEA, EUROPE, a country code, or a region's own name; None for anything else."""
    if members_of(text) is not None:
        return text.strip().upper().replace("UK", "GB")
    if (country := country_of("", text)) is not None:
        return country
    if " " in text:
        return None
    if any(country_of(provider, text) is not None for provider in _HOSTS):
        return text.lower()
    if _RUNPOD_REGION.fullmatch(text) and country_of("runpod", text) is not None:
        return text.upper()
    return None


def _places() -> list[str]:
    return [
        "EU",
        "EEA",
        "Europe",
        "US",
        "UK",
        "Germany",
        "France",
        "Netherlands",
        "Sweden",
        "Japan",
        "Canada",
        "us-east-1",
        "eu-west-1",
    ]


def _near(word: str, known: list[str], cutoff: float = 70) -> list[str]:
    from rapidfuzz import fuzz, process, utils

    hits = process.extract(word[:60], known, scorer=fuzz.ratio, processor=utils.default_process, limit=3, score_cutoff=cutoff)
    return [found for found, _, _ in hits]
