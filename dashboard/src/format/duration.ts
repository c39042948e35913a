// How long something took, in two units at most: 350 ms, 4.2 s, 3 m 20 s, 2 d 4 h.
import { dictionary } from '../words/dictionary';
import { language } from '../words/language.svelte';
import { count } from './number';

const units = dictionary({
  en: { ms: 'ms', s: 's', m: 'm', h: 'h', d: 'd' },
  ru: { ms: 'мс', s: 'с', m: 'мин', h: 'ч', d: 'д' },
});

// No space breaks a line here.
const with_unit = (n: number | string, unit: keyof typeof units): string => `${n}\u00a0${units[unit]}`;

export function duration(ms: number): string {
  const time = Math.max(0, ms);
  if (time < 1000) return with_unit(Math.round(time), 'ms');
  const seconds = time / 1000;
  if (seconds < 10) return with_unit((Math.floor(seconds * 10) / 10).toLocaleString(language.current), 's');
  if (seconds < 60) return with_unit(Math.floor(seconds), 's');
  return two(Math.floor(seconds));
}

// Exactly, in as many units as it takes: 1 h 30 m, 2 s 500 ms.
export function exact_duration(ms: number): string {
  const sizes = [['d', 86_400_000], ['h', 3_600_000], ['m', 60_000], ['s', 1000], ['ms', 1]] as const;
  let left = Math.round(ms);
  const parts: string[] = [];
  for (const [unit, size] of sizes) {
    const n = Math.floor(left / size);
    if (n > 0) parts.push(with_unit(count(n), unit));
    left -= n * size;
  }
  return parts.join(' ') || with_unit(0, 's');
}

// Whole seconds, for what counts up before one's eyes.
export function age(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  return seconds < 60 ? with_unit(seconds, 's') : two(seconds);
}

function two(seconds: number): string {
  const days = Math.floor(seconds / 86_400);
  const hours = Math.floor(seconds / 3600) % 24;
  const minutes = Math.floor(seconds / 60) % 60;
  const pair = (a: number, of_a: keyof typeof units, b: number, of_b: keyof typeof units) =>
    b === 0 ? with_unit(count(a), of_a) : `${with_unit(count(a), of_a)} ${with_unit(b, of_b)}`;
  if (days > 0) return pair(days, 'd', hours, 'h');
  if (hours > 0) return pair(hours, 'h', minutes, 'm');
  return pair(minutes, 'm', seconds % 60, 's');
}
