"""Writes zones.tsv: what Python's zoneinfo makes of the zone files in zones.hex.

    to_local    zone  moment      local time
    from_local  zone  local time  unique|gap|overlap  first moment  second moment

For a local time in a gap both moments are the end of the gap.

    python3 zones.py [lines a zone] [seed] [database] > zones.tsv
"""

import io
import random
import sys
import zoneinfo
from datetime import datetime, timedelta, timezone
from pathlib import Path

HERE = Path(__file__).parent
LINES = int(sys.argv[1]) if len(sys.argv) > 1 else 60
RANDOM = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 20260101)
DATABASE = Path(sys.argv[3]) if len(sys.argv) > 3 else None
SECOND = timedelta(seconds=1)


def text(moment):
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ").zfill(20)


def offset_at(zone, moment):
    return moment.replace(tzinfo=timezone.utc).astimezone(zone).utcoffset()


def local_at(zone, moment):
    return moment + offset_at(zone, moment)


def change_between(zone, low, high):
    """The moment in (low, high] from which the offset of `high` holds."""
    new = offset_at(zone, high)
    while high - low > SECOND:
        middle = low + timedelta(seconds=(high - low) // SECOND // 2)
        low, high = (low, middle) if offset_at(zone, middle) == new else (middle, high)
    return high


def random_moment(zone):
    """Mostly within hours of a change of offset, if there is one around."""
    first, last = RANDOM.choice([(1880, 2100), (1970, 2040), (2036, 2101), (2101, 9990)])
    span = int((datetime(last, 1, 1) - datetime(first, 1, 1)).total_seconds())
    moment = datetime(first, 1, 1) + timedelta(seconds=RANDOM.randrange(span))
    later = moment + timedelta(days=RANDOM.randrange(20, 200))
    if RANDOM.random() < 0.3 or offset_at(zone, moment) == offset_at(zone, later):
        return moment
    change = change_between(zone, moment, later)
    return change + timedelta(seconds=RANDOM.choice([-1, 0, 1, RANDOM.randrange(-9000, 9000)]))


def from_local(zone, local):
    before = local.replace(tzinfo=zone, fold=0).utcoffset()
    after = local.replace(tzinfo=zone, fold=1).utcoffset()
    if before == after:
        return "unique", local - before, local - before
    if before > after:
        return "overlap", local - before, local - after
    end = change_between(zone, local - after, local - before)
    return "gap", end, end


def packed_files():
    """The files in zones.hex: a name, then indented lines of hexadecimal digits."""
    files = {}
    for line in (HERE / "zones.hex").read_text().splitlines():
        if line.startswith("  "):
            files[name] += bytes.fromhex(line)
        else:
            name = line
            files[name] = b""
    return files


def files_below(folder):
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def main():
    files = packed_files() if DATABASE is None else files_below(DATABASE)
    for name, content in files.items():
        if not name[0].isupper() or content[:4] != b"TZif":
            continue
        zone = zoneinfo.ZoneInfo.from_file(io.BytesIO(content), key=name)
        for _ in range(LINES // 2):
            moment = random_moment(zone)
            print("to_local", name, text(moment), text(local_at(zone, moment)), sep="\t")
            local = local_at(zone, random_moment(zone))
            local += RANDOM.choice([-2, -1, 0, 1]) * 900 * SECOND
            kind, first, second = from_local(zone, local)
            print("from_local", name, text(local), kind, text(first), text(second), sep="\t")


main()
