// Something that is asked for again and again while a component shows it.
//
//   const stats = poll((signal) => api.stats(signal), { every: 2000 });
//   stats.value, stats.problem, stats.loading, stats.refresh()
//
// What `load` reads before its first await is watched: a change asks anew at once, and forgets what was there,
// which is the answer to another question. So let it read texts and numbers, not objects that come anew with
// every answer. Otherwise what was there stays until something newer comes. Nothing is asked while the tab is
// hidden; failures back off to 30 s.
import { untrack } from 'svelte';
import { Problem, problem_of, was_aborted } from '../api/problem';
import { clock } from './clock.svelte';

interface Options {
  every: number | (() => number) | null; // milliseconds; null: once, and when refresh() is called
}

const longest = 30_000;

class Polled<T> {
  value = $state.raw<T | undefined>(undefined);
  problem = $state.raw<Problem | null>(null);
  loading = $state(true); // nothing has come yet
  at = $state(0); // when the value came
  ask: () => void = () => {};

  // Asks now; if a question is under way, after it.
  refresh(): void {
    this.ask();
  }

  forget(): void {
    this.value = undefined;
    this.problem = null;
    this.loading = true;
  }
}

export type { Polled };

// Only while a component is made.
export function poll<T>(load: (signal: AbortSignal) => Promise<T>, options: Options): Polled<T> {
  const polled = new Polled<T>();
  let asked = false;
  $effect(() => {
    if (asked) polled.forget();
    asked = true;
    const leave = new AbortController();
    let timer = 0;
    let failures = 0;
    let asking = false;
    let again = false;

    const took = (value: T) => {
      if (leave.signal.aborted) return;
      failures = 0;
      polled.value = value;
      polled.problem = null;
      polled.loading = false;
      polled.at = untrack(() => clock.now);
    };
    const failed = (error: unknown) => {
      if (leave.signal.aborted || was_aborted(error)) return;
      failures += 1;
      polled.problem = problem_of(error);
      polled.loading = false;
    };
    const pause = (): number | null => {
      const every = typeof options.every === 'function' ? untrack(options.every) : options.every;
      if (failures === 0) return every;
      if (polled.problem && !polled.problem.passes) return every === null ? null : longest;
      const wait = polled.problem?.retry_after_ms ?? Math.min(longest, 1000 * 2 ** Math.min(failures - 1, 5));
      return Math.max(wait, every ?? 0) * (0.9 + Math.random() * 0.2);
    };
    const settle = () => {
      asking = false;
      if (leave.signal.aborted) return;
      const wait = again ? 0 : untrack(pause);
      again = false;
      if (wait !== null && !document.hidden) timer = window.setTimeout(() => go(), wait);
    };
    const go = () => {
      clearTimeout(timer);
      if (asking) return void (again = true);
      asking = true;
      load(leave.signal).then(took, failed).finally(settle);
    };
    const seen = () => {
      if (!document.hidden && !asking) go();
      if (document.hidden) clearTimeout(timer);
    };

    document.addEventListener('visibilitychange', seen);
    polled.ask = go;
    go();
    return () => {
      leave.abort();
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', seen);
    };
  });
  return polled;
}
