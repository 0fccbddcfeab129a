"""One table of words, numbers and times in every format, and its times as seconds since the first by Python's datetime,
for crates/io/tests/streams/readers/tables. Usage: time_files.py <folder>

Rows cross a leap day, the end of a year that has one, and the hours in which Berlin's clocks go forth and back. Those
of the column `at` have Berlin's offsets; in Parquet and Arrow they are the same instants in UTC.
"""

import csv
import sys
from datetime import date, datetime, time, timedelta, timezone
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq

WINTER, SUMMER = timezone(timedelta(hours=1)), timezone(timedelta(hours=2))
AT = [
    datetime(2028, 2, 28, 23, 59, 59, 500000, WINTER),
    datetime(2028, 2, 29, 0, 0, 0, 250000, WINTER),
    datetime(2028, 3, 26, 1, 59, 59, 0, WINTER),
    datetime(2028, 3, 26, 3, 0, 0, 0, SUMMER),
    None,
    datetime(2028, 10, 29, 2, 30, 0, 0, SUMMER),
    datetime(2028, 10, 29, 2, 30, 0, 0, WINTER),
    datetime(1969, 12, 31, 23, 0, 0, 1, WINTER),
]
LOCAL = [moment and moment.replace(tzinfo=None) for moment in AT]
DAY = [moment and moment.date() for moment in AT]
CLOCK = [time(0, 0, 1), time(0, 0, 1, 125000), time(1, 2, 3), None, time(12), time(12, 0, 0, 1), time(23, 59), time(23, 59, 59)]
ID = ["b", "a", "b", "ä", "a", "a", "b", "ä"]
T = [0.1 * i for i in range(8)]
Y = [1.5, None, 2.25, -3.0, 1e-300, 12345678.9, 0.1, 7.0]
N = [7, 7, -1, 7, 7, -1, 7, 7]


def seconds(values):
    """Since the first, rounded once."""
    def exact(value):
        if isinstance(value, time):
            value = datetime.combine(date(1970, 1, 1), value)
        elif not isinstance(value, datetime):
            value = datetime.combine(value, time())
        since = value - datetime(1970, 1, 1, tzinfo=value.tzinfo and timezone.utc)
        return Fraction(since.days * 86400 + since.seconds) + Fraction(since.microseconds, 10**6)

    first = exact(next(value for value in values if value is not None))
    return [None if value is None else float(exact(value) - first) for value in values]


def main(folder):
    columns = {"id": ID, "t": T, "y": Y, "n": N, "at": AT, "local": LOCAL, "day": DAY, "clock": CLOCK}
    words = [[value.isoformat() if isinstance(value, (date, time)) else value for value in column]
             for column in columns.values()]
    for name, delimiter in {"times.csv": ",", "times.tsv": "\t"}.items():
        with open(folder / name, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
            writer.writerow(columns)
            writer.writerows(zip(*words))
    types = [pa.string(), pa.float64(), pa.float64(), pa.int32(), pa.timestamp("us", "UTC"), pa.timestamp("us"),
             pa.date32(), pa.time64("us")]
    table = pa.table({name: pa.array(column, type_) for (name, column), type_ in zip(columns.items(), types)})
    pq.write_table(table, folder / "times.parquet")
    with pa.ipc.new_file(folder / "times.arrow", table.schema) as writer:
        writer.write_table(table, max_chunksize=3)
    with open(folder / "times.expected.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["at", "local", "day", "clock"])
        writer.writerows(zip(*map(seconds, [AT, LOCAL, DAY, CLOCK])))


main(Path(sys.argv[1]))
