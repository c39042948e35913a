// Durations as people type them: `30s`, `1h30m`, `1.5h`, `250ms`, greatest unit first.
const units: [name: string, also: string[], ms: number][] = [
  ['w', ['н'], 604_800_000],
  ['d', ['д'], 86_400_000],
  ['h', ['ч'], 3_600_000],
  ['m', ['м', 'мин', 'min'], 60_000],
  ['s', ['с', 'сек', 'sec'], 1000],
  ['ms', ['мс'], 1],
];

// Milliseconds; null: it is not a duration.
export function parse_duration(text: string): number | null {
  const clean = text.trim().toLowerCase().replace(',', '.');
  if (!/^(\d+(\.\d+)?\s*[a-zа-я]+\s*)+$/.test(clean)) return null;
  let sum = 0;
  let last = -1;
  for (const [, number, name] of clean.matchAll(/(\d+(?:\.\d+)?)\s*([a-zа-я]+)/g)) {
    const at = units.findIndex(([unit, also]) => unit === name || also.includes(name ?? ''));
    const unit = units[at];
    if (!unit || at <= last) return null;
    last = at;
    sum += Number(number) * unit[2];
  }
  return Math.round(sum);
}

// What parse_duration() reads back: 1h30m
export function duration_text(ms: number): string {
  let left = Math.round(ms);
  let text = '';
  for (const [name, , size] of units) {
    // A week is seldom what was meant by seven days.
    if (name === 'w') continue;
    const n = Math.floor(left / size);
    if (n > 0) text += `${n}${name}`;
    left -= n * size;
  }
  return text || '0ms';
}
