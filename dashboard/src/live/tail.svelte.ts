// The newest events, at most 500. New ones are shown four times per second, so that a
// busy server neither flickers nor keeps the browser at work.
import type { TaskEvent } from '../api/types';

export const most = 500;
const pace = 250; // milliseconds

export type Row =
  | { key: number; kind: 'event'; event: TaskEvent }
  | { key: number; kind: 'skipped'; count: number }
  | { key: number; kind: 'gap' };
type Given = { kind: 'event'; event: TaskEvent } | { kind: 'skipped'; count: number } | { kind: 'gap' };

export class Tail {
  rows = $state.raw<Row[]>([]); // newest first
  paused = $state(false);
  waiting = $state(0); // came while paused; at most `most`
  rate = $state(0); // events per second, lately
  #fresh: Row[] = []; // oldest first
  #last = 0;
  #timer = 0;
  #counts: number[] = Array.from({ length: 20 }, () => 0); // by step of `pace`

  // Returns what ends it.
  start(): () => void {
    this.#timer = window.setInterval(() => this.#step(), pace);
    return () => clearInterval(this.#timer);
  }

  add(given: Given): void {
    this.#last += 1;
    if (given.kind !== 'gap') this.#counts[0] = (this.#counts[0] ?? 0) + (given.kind === 'event' ? 1 : given.count);
    this.#fresh.push({ ...given, key: this.#last });
    if (this.#fresh.length > most) this.#fresh.shift();
  }

  pause(paused: boolean): void {
    this.paused = paused;
    if (!paused) this.#show();
  }

  clear(): void {
    this.#fresh = [];
    this.rows = [];
    this.waiting = 0;
  }

  #step(): void {
    this.rate = this.#counts.reduce((sum, one) => sum + one, 0) / ((this.#counts.length * pace) / 1000);
    this.#counts.pop();
    this.#counts.unshift(0);
    if (this.paused) this.waiting = this.#fresh.length;
    else this.#show();
  }

  #show(): void {
    this.waiting = 0;
    if (this.#fresh.length === 0) return;
    this.rows = [...this.#fresh.reverse(), ...this.rows].slice(0, most);
    this.#fresh = [];
  }
}
