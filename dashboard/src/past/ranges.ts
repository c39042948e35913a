// How far charts look back. The server keeps a point per minute for a day and a point per hour for 30 days.
import type * as api from '../api/queues';
import { iso_of } from '../format/local_input';

interface Range {
  step: '1m' | '1h';
  count: number; // steps
  every: number; // milliseconds until it is asked for again
}
const minute = 60_000;
const lengths = { '1m': minute, '1h': 60 * minute };

export const ranges = {
  hour: { step: '1m', count: 60, every: 15_000 },
  day: { step: '1h', count: 24, every: minute },
  week: { step: '1h', count: 7 * 24, every: 2 * minute },
  month: { step: '1h', count: 30 * 24, every: 5 * minute },
} as const satisfies Record<string, Range>;

export type RangeName = keyof typeof ranges;
export const range_names = Object.keys(ranges) as RangeName[];
export const range_in = (text: string): RangeName => range_names.find((name) => name === text) ?? 'hour';

// What to ask for, so that the last step is the one that is on at `now`.
export function asked_for(name: RangeName, now: number): Pick<Parameters<typeof api.history>[0], 'step' | 'from'> {
  const { step, count } = ranges[name];
  const length = lengths[step];
  return { step, from: iso_of((Math.floor(now / length) - count + 1) * length) };
}
