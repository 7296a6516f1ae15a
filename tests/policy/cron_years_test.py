#!/usr/bin/env python3
"""Ten years of 200 schedules, counted here in another way: cron_years_test.py CRON_RUNS."""

import itertools
import subprocess
import sys
import unittest
from datetime import date, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

CRON_RUNS = sys.argv.pop(1)

# Half an hour of summer time in Lord Howe; a skipped day in Apia (December 30, 2011).
ZONES = ("Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Santiago",
         "Pacific/Apia", "UTC")
EXPRESSIONS = (
    "0 0 * * *", "30 2 * * *", "0 2 * * *", "59 1 * * *", "0 3 * * *", "30 1 * * *", "15 0 * * *",
    "45 23 * * *", "0 12 * * *", "5 4 1 * *", "0 0 29 2 *", "0 0 31 * *",
    "0 0 L * *", "30 2 * * 0", "30 1 * * 7", "0 9 * * 1-5", "0 9-17/4 * * MON-FRI", "0 0 13 * 5",
    "0 0 */13 * 5", "0 0 1,15 * *", "10 2,3 * 3,4,10,11 *", "0 0 1 JAN *", "0 1 * JUN-AUG sun",
    "*/30 2 * * *", "*/20 1-3 * 3,4,9-11 0", "0 * 28-31 3,10 *", "30 */2 * 3,10,11 0",
    "0 0 2 * * *", "30 30 2 * * 0", "*/30 59 1 * 4,10 *", "15,45 0 0 L * *", "@monthly", "@yearly",
    "@weekly", "@daily", "*/30 * * * *", "7 * * * *")
BEGIN, END = 2009, 2019
MANY = 24  # runs a day at which only the days around a change of the clocks are compared

NAMES = {name: number for number, name in enumerate(
    "jan feb mar apr may jun jul aug sep oct nov dec".split(), 1)}
NAMES |= {name: number for number, name in enumerate("sun mon tue wed thu fri sat".split())}
SHORT = {"@monthly": "0 0 1 * *", "@yearly": "0 0 1 1 *", "@weekly": "0 0 * * 0",
         "@daily": "0 0 * * *"}


def numbers(field: str, first: int, last: int) -> set[int]:
    found = set()
    for part in field.lower().split(","):
        span, _, step = part.partition("/")
        low, _, high = span.partition("-")
        if low == "*":
            begin, end = first, last
        else:
            begin = NAMES.get(low) if low in NAMES else int(low)
            end = begin
            if high:
                end = NAMES.get(high) if high in NAMES else int(high)
            elif step:
                end = last
        found |= set(range(begin, end + 1, int(step or 1)))
    return found


class Calendar:
    def __init__(self, text: str) -> None:
        fields = SHORT.get(text, text).split()
        fields = ["0", *fields] if len(fields) == 5 else fields
        second, minute, hour, day, month, weekday = fields
        self.times = [(h, m, s) for h, m, s in itertools.product(
            sorted(numbers(hour, 0, 23)), sorted(numbers(minute, 0, 59)),
            sorted(numbers(second, 0, 59)))]
        self.any_hour = hour.startswith("*")
        self.last_day = day == "L"
        self.days = set() if self.last_day else numbers(day, 1, 31)
        self.months = numbers(month, 1, 12)
        self.weekdays = {number % 7 for number in numbers(weekday, 0, 7)}
        self.both = day.startswith("*") or weekday.startswith("*")

    def fits(self, day: date) -> bool:
        if day.month not in self.months:
            return False
        last = (day + timedelta(days=1)).day == 1
        by_day = day.day in self.days or (self.last_day and last)
        by_weekday = day.isoweekday() % 7 in self.weekdays
        return by_day and by_weekday if self.both else by_day or by_weekday

    def runs(self, day: date, zone: ZoneInfo) -> set[int]:
        if not self.fits(day):
            return set()
        found = set()
        for time in self.times:
            local = datetime(day.year, day.month, day.day, *time, tzinfo=zone)
            early, late = (int(local.replace(fold=fold).timestamp()) for fold in (0, 1))
            if early == late:
                found.add(early)
            elif early < late:  # it comes twice
                found |= {early, late} if self.any_hour else {early}
            else:  # it is skipped
                found.add(change_between(late, early, zone))
        return found


def change_between(before: int, after: int, zone: ZoneInfo) -> int:
    """The first second with the offset of `after`."""
    def offset(at: int) -> timedelta:
        return datetime.fromtimestamp(at, zone).utcoffset()

    while after - before > 1:
        middle = (before + after) // 2
        if offset(middle) == offset(after):
            after = middle
        else:
            before = middle
    return after


def days(begin: date, end: date):
    while begin < end:
        yield begin
        begin += timedelta(days=1)


def changing_days(zone: ZoneInfo) -> list[date]:
    """Those around each change of the clocks, in runs of five."""
    found = set()
    for day in days(date(BEGIN, 1, 3), date(END, 1, 1)):
        noon = datetime(day.year, day.month, day.day, 12, tzinfo=zone)
        if noon.utcoffset() != (noon - timedelta(days=1)).utcoffset():
            found |= {day + timedelta(days=n) for n in range(-3, 3)}
    return sorted(found)


class Years(unittest.TestCase):
    def test_all_runs_of_ten_years(self) -> None:
        self.assertGreaterEqual(len(EXPRESSIONS) * len(ZONES), 200)
        asked, expected = [], []
        for name in ZONES:
            zone = ZoneInfo(name)
            changing = changing_days(zone)
            for text in EXPRESSIONS:
                calendar = Calendar(text)
                for first, last in self.spans(calendar, changing):
                    begin = int(datetime(*first, tzinfo=timezone.utc).timestamp())
                    end = int(datetime(*last, tzinfo=timezone.utc).timestamp())
                    asked.append(f"{name}\t{begin}\t{end}\t{text}\n")
                    runs = set()
                    for day in days(date(*first) - timedelta(days=2), date(*last) + timedelta(days=2)):
                        runs |= calendar.runs(day, zone)
                    expected.append([run for run in sorted(runs) if begin < run <= end])
        done = subprocess.run([CRON_RUNS], input="".join(asked), capture_output=True, text=True,
                              check=True)
        for line, runs, right in zip(asked, done.stdout.splitlines(), expected, strict=True):
            self.assertEqual([int(run) for run in runs.split()], right, line)
        self.assertGreater(sum(map(len, expected)), 100_000)

    def spans(self, calendar: Calendar, changing: list[date]):
        if len(calendar.times) < MANY:
            return [((BEGIN, 1, 1), (END, 1, 1))]
        around = sorted({(day.year, day.month) for day in changing})
        ends = []
        for year, month in around:
            inside = [day for day in changing if (day.year, day.month) == (year, month)]
            last = inside[-1] + timedelta(days=1)
            ends.append(((inside[0].year, inside[0].month, inside[0].day),
                         (last.year, last.month, last.day)))
        return ends or [((BEGIN, 3, 1), (BEGIN, 3, 9))]


if __name__ == "__main__":
    unittest.main()
