"""Telling a page's clock from what a page says: dates and times that are only those of the visit.

"Today is 30 November 2026" on a page that was visited that day, and "1 December" the day after, is no update; "the
next concert is on 5 December" is one when it moves. So a date is passed over only where it is the date of the visit on
both sides, give or take the day that time zones make of it, and a time of day only where both sides are as far from
their visit, in whole half hours. What is told relative to now ("3 hours ago") is always passed over.
"""

import re
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from functools import lru_cache

_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_WEEKDAY = rf"(?:(?:{'|'.join(f'{day[:3]}(?:{day[3:]})?' for day in _DAYS)})\.?,? +)?"
_JAPANESE_WEEKDAY = "(?: ?[(（]?[月火水木金土日](?:曜日?)?[)）]?)?"
_RELATIVE = re.compile(
    r"\b(?:\d+|an?|one|few|a few) (?:sec(?:ond)?|min(?:ute)?|hour|hr|day|week|month|year)s? ago\b|\bjust now\b"
    r"|\byesterday\b|\d+ ?(?:秒|分|時間|日|週間|か月|ヶ月|ヵ月|カ月|年)前|たった今"
    r"|\d+ ?(?:秒|分钟|小时|天|周|个月|年)前|刚刚"
    r"|\d+ ?(?:초|분|시간|일|주|개월|년) ?전",
    re.IGNORECASE,
)
_TIME = re.compile(r"(?<![\d:])([01]?\d|2[0-3]):([0-5]\d)(?::[0-5]\d)?(?! ?[:\d])( ?[ap]\.?m\b\.?)?", re.IGNORECASE)
_SIGNS = ("ago", "just now", "yesterday", "前", "たった今", "刚刚", "전")
HALF_HOUR_S = 1800
SLACK_S = 90
"""A page shows minutes, and took a while to come."""
_DATE, _AGO, _TIME_OF_DAY = "\x01d", "\x01r", "\x01t"


def without_clock(line: str, at: datetime) -> str:
    """The line with today's dates and relative times replaced by marks; `at` is when it was fetched."""
    return _dates_around(at.date()).sub(_DATE, _RELATIVE.sub(_AGO, line))


def lines_without_clock(lines: Sequence[str], at: datetime) -> list[str]:
    """`without_clock` for each line; what cannot have either is found out by plain search, which is far faster."""
    signs = (*_SIGNS, *(str(at.year + off) for off in (-1, 0, 1)))
    return [without_clock(line, at) if any(sign in line.lower() for sign in signs) else line for line in lines]


def differ_by_clock(before: str, after: str, before_at: datetime, after_at: datetime) -> bool:
    """Whether two lines are the same but for a time of day that was the visit's on both sides."""
    times_before, times_after = _TIME.findall(before), _TIME.findall(after)
    if not times_before or len(times_before) != len(times_after):
        return False
    if _TIME.sub(_TIME_OF_DAY, before) != _TIME.sub(_TIME_OF_DAY, after):
        return False
    return all(
        one == other or _same_distance(one, other, before_at, after_at)
        for one, other in zip(times_before, times_after, strict=True)
    )


def _same_distance(
    before: tuple[str, str, str], after: tuple[str, str, str], before_at: datetime, after_at: datetime
) -> bool:
    far_before, far_after = _far_s(before, before_at), _far_s(after, after_at)
    drift = abs((far_before - far_after + 43_200) % 86_400 - 43_200)
    from_half_hour = abs((far_before + HALF_HOUR_S // 2) % HALF_HOUR_S - HALF_HOUR_S // 2)
    return drift <= SLACK_S and from_half_hour <= SLACK_S


def _far_s(shown: tuple[str, str, str], at: datetime) -> int:
    hour, minute, half = int(shown[0]), int(shown[1]), shown[2].strip().lower()[:1]
    if half:
        hour = hour % 12 + (12 if half == "p" else 0)
    # The middle of the minute that is shown, so that 59 s of it are no distance.
    return hour * 3600 + minute * 60 + 30 - (at.hour * 3600 + at.minute * 60 + at.second)


@lru_cache(maxsize=16)
def _dates_around(day: date) -> "re.Pattern[str]":
    return re.compile("|".join(_spellings(day + timedelta(days=off)) for off in (-1, 0, 1)), re.IGNORECASE)


def _spellings(day: date) -> str:
    year, month, number = day.year, day.month, day.day
    name = _MONTHS[month - 1]
    named = f"{name[:3]}(?:{name[3:]}|\\.)?" if name[3:] else name
    d, m = f"0?{number}", f"0?{month}"
    forms = [
        rf"{year}[-/.]{m}[-/.]{d}",
        rf"{d}[-/.]{m}[-/.]{year}",
        rf"{m}[-/]{d}[-/]{year}",
        rf"{_WEEKDAY}{d}(?:st|nd|rd|th)?\.?[ -]{named},?[ -]{year}",
        rf"{_WEEKDAY}{named} {d}(?:st|nd|rd|th)?,? {year}",
        rf"{year} ?[年년] ?{m} ?[月월] ?{d} ?[日일]{_JAPANESE_WEEKDAY}",
    ]
    return "|".join(rf"(?<!\d){form}(?!\d)" for form in forms)
