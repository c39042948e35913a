// What a task has gone through, as spans of time one after another: made of its history and its moments.
import { created_as, type Attempt, type Task } from '../../api/types';
import { moment } from '../../format/time';

export type Kind = 'held' | 'waits' | 'delayed' | 'waiting' | 'running' | 'retrying' | 'snoozed' | 'parked' | 'ended';

export interface Span {
  kind: Kind;
  from: number;
  to: number | null; // null: it lasts
  attempt?: number;
  event?: string; // how a run ended
  worker?: string;
  error?: string;
}

const kept = 20; // attempts that a task remembers

// What comes after an attempt that ended so.
function wait_after(event: string | undefined): Kind {
  if (event === 'retry') return 'retrying';
  if (event === 'snooze') return 'snoozed';
  if (event === 'park') return 'parked';
  return 'waiting';
}

// A worker had it. Cancelling and expiring may also end what was never taken.
const is_run = (entry: Attempt): boolean =>
  entry.event !== 'revive' && (Boolean(entry.worker) || (entry.event !== 'cancel' && entry.event !== 'expire'));

const error_of = (attempt: Attempt): string => [attempt.error_code, attempt.error_message].filter(Boolean).join(': ');

class Maker {
  spans: Span[] = [];
  #at: number;
  #last: string | undefined;

  constructor(
    readonly task: Task,
    public attempt: number,
  ) {
    this.#at = moment(task.created_at);
  }

  #wait(kind: Kind, to: number | null): void {
    if (to !== null && to <= this.#at) return;
    this.spans.push({ kind, from: this.#at, to });
    if (to !== null) this.#at = to;
  }

  past(entry: Attempt): void {
    const from = moment(entry.started_at);
    const to = moment(entry.ended_at);
    if (entry.event === 'revive') {
      // What ended it was told with the attempt, if it was one.
      const told = this.spans.at(-1)?.error === error_of(entry);
      this.spans.push({ kind: 'ended', from, to, event: entry.event, ...(!told && { error: error_of(entry) }) });
    } else if (is_run(entry)) {
      this.#wait(wait_after(this.#last), from);
      this.attempt += 1;
      this.spans.push({
        kind: 'running',
        from,
        to,
        attempt: this.attempt,
        event: entry.event,
        ...(entry.worker && { worker: entry.worker }),
        ...(error_of(entry) && { error: error_of(entry) }),
      });
    }
    this.#at = to;
    this.#last = entry.event;
  }

  // What lasts, or how it ended without another attempt.
  now(): void {
    const { task } = this;
    // A task that was cancelled while it was parked may keep `never`.
    const due = task.start === 'never' ? Infinity : moment(task.start);
    if (task.state === 'created') return this.#wait(created_as(task) ?? 'held', null);
    const waited = wait_after(this.#last);
    if (task.state === 'processing' && task.started_at) {
      const from = moment(task.started_at);
      this.#until_due(due, from, waited);
      this.#wait(this.#last && waited !== 'waiting' && due <= this.#at ? 'waiting' : waited, from);
      this.spans.push({ kind: 'running', from, to: null, attempt: this.attempt + 1, ...(task.worker && { worker: task.worker }) });
      return;
    }
    const end = task.finished_at ? moment(task.finished_at) : null;
    this.#until_due(due, end ?? Infinity, waited);
    if (end === null || end > this.#at) this.#wait('waiting', end);
  }

  #until_due(due: number, most: number, waited: Kind): void {
    if (due <= this.#at) return;
    this.#wait(waited === 'waiting' ? 'delayed' : waited, Math.min(due, most));
  }
}

// How many attempts before those of the history are not kept; null: some, and no counter knows how many, since a
// retry by hand begins them anew.
function left_out_of(task: Task): number | null {
  const history = task.history ?? [];
  if (history.length < kept) return 0;
  if (history.some((entry) => entry.event === 'revive')) return null;
  const runs = history.filter(is_run).length + (task.state === 'processing' ? 1 : 0);
  return Math.max(0, (task.counters?.deliveries ?? 0) - runs);
}

export interface Runs {
  attempts: number;
  failures: number;
  lost: number;
  at_least: boolean; // some are not kept
}

const was_lost = (entry: Attempt): boolean => entry.event === 'lose' || (entry.event === 'exhaust' && entry.error_code === 'worker_lost');

// The attempts that the timeline shows, counted. The counters of a task are those since it was last retried by hand,
// and leave out the failure that ended it.
export function runs_of(task: Task): Runs {
  const history = task.history ?? [];
  const left_out = left_out_of(task);
  const runs = history.filter(is_run);
  const lost = runs.filter(was_lost).length;
  const failures = runs.filter((entry) => ['retry', 'fail', 'exhaust'].includes(entry.event) && !was_lost(entry)).length;
  return {
    attempts: (left_out ?? 0) + runs.length + (task.state === 'processing' ? 1 : 0),
    failures: left_out ? Math.max(failures, task.counters?.retries ?? 0) : failures,
    lost: left_out ? Math.max(lost, task.counters?.lost ?? 0) : lost,
    at_least: left_out === null,
  };
}

export function timeline_of(task: Task, now: number): { spans: Span[]; left_out: number | null } {
  const left_out = left_out_of(task);
  const maker = new Maker(task, left_out ?? 0);
  for (const entry of task.history ?? []) maker.past(entry);
  maker.now();
  // What is only due later lasts now, and nothing after it has begun. The clock ticks once per second, and so
  // may be behind what the task says of itself.
  const here = Math.max(now, moment(task.updated_at));
  const begun = maker.spans.filter((span) => span.from <= here);
  const last = begun.at(-1);
  if (last && last.to !== null && last.to > here) begun[begun.length - 1] = { ...last, to: null };
  return { spans: begun, left_out };
}
