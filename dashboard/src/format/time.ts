// Moments: in the reader's zone, exact in UTC, or as seen from now.
import { language } from '../words/language.svelte';

type Kind = 'full' | 'today' | 'date' | 'minute' | 'day';
const formats: Record<Kind, Intl.DateTimeFormatOptions> = {
  full: { dateStyle: 'medium', timeStyle: 'long', hourCycle: 'h23' },
  today: { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' },
  date: { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit', hourCycle: 'h23' },
  minute: { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' },
  day: { day: 'numeric', month: 'short' },
};
const made = new Map<string, Intl.DateTimeFormat>();
const relatives = new Map<string, Intl.RelativeTimeFormat>();

function format(kind: Kind): Intl.DateTimeFormat {
  const name = `${language.current} ${kind}`;
  let found = made.get(name);
  if (!found) made.set(name, (found = new Intl.DateTimeFormat(language.current, formats[kind])));
  return found;
}

// Milliseconds since 1970; NaN for what is not a moment (`never`).
export const moment = (iso: string): number => Date.parse(iso);

// With everything, in the reader's zone.
export const local = (at: number): string => format('full').format(at);

// To the millisecond: 2026-01-02 03:04:05.678 UTC
export const utc = (at: number): string => new Date(at).toISOString().replace('T', ' ').replace('Z', ' UTC');

// Short: only the time for what was within a day of `now`.
export const short = (at: number, now: number): string =>
  format(Math.abs(now - at) < 43_200_000 ? 'today' : 'date').format(at);

// As short, without seconds: for what is counted by the minute.
export const to_minute = (at: number, now: number): string => format(Math.abs(now - at) < 43_200_000 ? 'minute' : 'date').format(at);

// Of an axis: the time of day, and the day where one begins.
export function axis_label(at: number): string {
  const when = new Date(at);
  return format(when.getHours() === 0 && when.getMinutes() === 0 ? 'day' : 'minute').format(at);
}

const steps: [Intl.RelativeTimeFormatUnit, number][] = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1000],
];

// 5 minutes ago, in 2 hours
export function relative(at: number, now: number): string {
  const lang = language.current;
  let found = relatives.get(lang);
  if (!found) relatives.set(lang, (found = new Intl.RelativeTimeFormat(lang, { numeric: 'auto', style: 'short' })));
  const away = at - now;
  for (const [unit, ms] of steps) {
    if (Math.abs(away) >= ms) return found.format(Math.trunc(away / ms), unit);
  }
  return found.format(0, 'second');
}
