// The lines of the charts of a history.
import type { History, HistoryPoint, HistorySeries, Spread } from '../api/types';
import { type Steps, steps } from '../format/steps';
import { visible } from '../format/visible';
import { type Line, series_tones } from '../ui/line';
import { words } from './words';

export interface Drawing {
  title: string;
  lines: readonly Line[];
  format: (value: number) => string;
}

export interface Drawn extends Steps {
  history: History;
  whole: boolean; // enough steps are over: the one that is on would look like a fall
}

export function drawn_of(history: History, now: number, count: number): Drawn {
  const all = steps(history, now, count);
  const over = all.points.slice(0, all.done).filter((point) => point !== null).length;
  return { ...all, history, whole: over >= 2 };
}

// What is counted over a step is known when the step is over.
const counted = ({ points, done, whole }: Drawn, of: (point: HistoryPoint) => number) =>
  points.map((point, i) => (whole && i >= done ? null : point === null ? 0 : of(point)));
// What is measured is there from the start; null: nothing was measured.
const measured = ({ points }: Drawn, of: (point: HistoryPoint) => number | undefined) => points.map((point) => (point && of(point)) ?? null);

export const flow = (drawn: Drawn): Line[] => [
  { name: words.put, tone: 'queued', values: counted(drawn, (point) => point.put) },
  { name: words.completed, tone: 'processing', fill: true, values: counted(drawn, (point) => point.completed) },
  { name: words.retried, tone: 'retrying', dashed: true, values: counted(drawn, (point) => point.retried) },
  { name: words.failed, tone: 'failed', values: counted(drawn, (point) => point.failed) },
];

export const depth = (drawn: Drawn): Line[] => [
  { name: words.waiting, tone: 'queued', fill: true, values: drawn.points.map((point) => point?.waiting ?? 0) },
  { name: words.running, tone: 'processing', values: drawn.points.map((point) => point?.running ?? 0) },
];

export const p95 = (drawn: Drawn): Line[] => [
  { name: words.wait, tone: 'queued', values: measured(drawn, (point) => point.wait_ms?.p95) },
  { name: words.run, tone: 'processing', values: measured(drawn, (point) => point.run_ms?.p95) },
];

export const percentiles = (drawn: Drawn, of: (point: HistoryPoint) => Spread | undefined): Line[] => [
  { name: 'p50', tone: 'queued', values: measured(drawn, (point) => of(point)?.p50) },
  { name: 'p95', tone: 'retrying', values: measured(drawn, (point) => of(point)?.p95) },
  { name: 'p99', tone: 'failed', values: measured(drawn, (point) => of(point)?.p99) },
];

// A line for each of the busiest types, and one for the rest.
export function by_type({ history, places, done, whole }: Drawn, which: 'completed' | 'failed'): Line[] {
  const at = (one: HistorySeries, place: number | null) => (place === null ? 0 : (one[which]?.[place] ?? 0));
  const values = (all: readonly HistorySeries[]) =>
    places.map((place, i) => (whole && i >= done ? null : all.reduce((sum, one) => sum + at(one, place), 0)));
  const series = history.series ?? [];
  const lines: Line[] = series_tones.flatMap((tone, i) => {
    const one = series[i];
    return one ? [{ name: visible(one.name) || words.untyped, tone, values: values([one]) }] : [];
  });
  const rest = series.slice(series_tones.length);
  if (rest.length > 0) lines.push({ name: words.rest(rest.length), tone: 'series-rest', dashed: true, values: values(rest) });
  return lines;
}
