"""Writes the zone files below a folder as text, for zones.hex: python3 pack.py zoneinfo > zones.hex"""

import sys
from pathlib import Path

folder = Path(sys.argv[1])
for path in sorted(p for p in folder.rglob("*") if p.is_file()):
    print(path.relative_to(folder).as_posix())
    digits = path.read_bytes().hex()
    for start in range(0, len(digits), 96):
        print("  " + digits[start : start + 96])
