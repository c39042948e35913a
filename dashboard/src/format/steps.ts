// The server leaves out the minutes and hours in which nothing happened; charts need them.
import type { History, HistoryPoint } from '../api/types';
import { moment } from './time';

export interface Steps {
  at: number[]; // milliseconds, oldest first
  points: (HistoryPoint | null)[]; // null: nothing happened
  places: (number | null)[]; // of each in the points of the history
  done: number; // so many of them are over
}

// The `count` steps that end with the one that is on at `now`.
export function steps(history: History, now: number, count: number): Steps {
  const step = history.step_ms;
  const last = Math.floor(now / step) * step;
  const found = new Map(history.points.map((point, place) => [moment(point.at), place]));
  const at = Array.from({ length: count }, (_, i) => last - (count - 1 - i) * step);
  const places = at.map((time) => found.get(time) ?? null);
  const points = places.map((place) => (place === null ? null : (history.points[place] ?? null)));
  return { at, points, places, done: count - 1 };
}
