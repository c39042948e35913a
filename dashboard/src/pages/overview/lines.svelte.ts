// The small lines of the overview. A queue's is its last hour, by minutes that are over. The flow's is what this page
// has seen itself, every two seconds.
import type { History, HistoryPoint, HistorySeries, Stats } from '../../api/types';
import { steps } from '../../format/steps';

const minutes = 59;
const seen = 60;
const apart = 2000; // milliseconds between two values of the flow

interface Line {
  done: number[]; // per second
  failed: number[];
}

const none: Line = { done: [], failed: [] };

function line_of(one: HistorySeries, places: readonly (number | null)[], seconds: number): Line {
  const at = (values: number[] | undefined, place: number | null) => (place === null ? 0 : (values?.[place] ?? 0));
  return {
    done: places.map((place) => (at(one.completed, place) + at(one.failed, place)) / seconds),
    failed: places.map((place) => at(one.failed, place) / seconds),
  };
}

// By queue; of those that the history knows nothing of yet there is only what was seen here.
export class Lines {
  #past = new Map<string, Line>();
  #own = new Map<string, Line>();

  learn(history: History, now: number): void {
    const { places } = steps(history, now, minutes + 1);
    const over = places.slice(0, -1);
    this.#past = new Map((history.series ?? []).map((one) => [one.name, line_of(one, over, history.step_ms / 1000)]));
  }

  see(all: readonly Stats[]): void {
    const there = new Set(all.map((one) => one.queue));
    for (const name of this.#own.keys()) if (!there.has(name)) this.#own.delete(name);
    for (const { queue, rates } of all) {
      const before = this.#own.get(queue) ?? none;
      this.#own.set(queue, {
        done: [...before.done, rates.finish].slice(-seen),
        failed: [...before.failed, rates.fail].slice(-seen),
      });
    }
  }

  knows(queue: string): boolean {
    return this.#past.has(queue);
  }

  // The minute that is not over would look like a fall.
  of({ queue }: Stats): Line {
    const past = this.#past.get(queue);
    return past?.done.some((value) => value > 0) ? past : (this.#own.get(queue) ?? none);
  }
}

interface Counted {
  at: number;
  put: number;
  ended: number;
  since: string;
}

// What went in and out per second between two answers.
export class Flow {
  put = $state.raw<number[]>([]);
  done = $state.raw<number[]>([]);
  own = $state(0); // of them were seen here; the older ones are means of their minutes
  #last: Counted | null = null;

  learn(history: History, now: number): void {
    if (this.own >= seen) return;
    const { points } = steps(history, now, 4);
    const into = now % history.step_ms;
    // The current minute is not known yet: it is drawn like the one before.
    const before = (i: number) => points[2 - Math.max(0, Math.ceil(((seen - i) * apart - into) / history.step_ms) - 1)];
    const past = (of: (point: HistoryPoint) => number) =>
      Array.from({ length: seen }, (_, i) => {
        const point = before(i);
        return point ? of(point) / (history.step_ms / 1000) : 0;
      });
    const own = this.own;
    const joined = (older: number[], newer: number[]) => [...older, ...newer.slice(newer.length - own)].slice(-seen);
    this.put = joined(past((point) => point.put), this.put);
    this.done = joined(past((point) => point.completed + point.failed + point.cancelled), this.done);
  }

  see(all: readonly Stats[], at: number): void {
    const sum = (of: (one: Stats) => number) => all.reduce((total, one) => total + of(one), 0);
    const now: Counted = {
      at,
      put: sum(({ totals }) => totals.put),
      ended: sum(({ totals }) => totals.completed + totals.failed + totals.cancelled),
      since: all[0]?.totals.since ?? '',
    };
    const last = this.#last;
    // A server that was restarted, or a queue that was removed, counts less than before.
    if (!last || last.since !== now.since) return void (this.#last = now);
    // Answers may come sooner, since an event asks for one, and later, if there are many queues.
    const times = Math.floor((at - last.at + apart / 10) / apart);
    if (times === 0) return;
    this.#last = now;
    const seconds = (at - last.at) / 1000;
    const extend = (values: readonly number[], more: number) => [...values, ...Array<number>(times).fill(Math.max(0, more) / seconds)].slice(-seen);
    this.own = Math.min(seen, this.own + times);
    this.put = extend(this.put, now.put - last.put);
    this.done = extend(this.done, now.ended - last.ended);
  }
}
