// What a task has gone through, as spans of time one after another: made of its history and its moments.
import type { Attempt, Task } from '../../api/types';
import { moment } from '../../format/time';

export type Kind = 'held' | 'delayed' | 'waiting' | 'running' | 'retrying' | 'snoozed' | 'ended';

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
  return 'waiting';
}

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
      this.spans.push({ kind: 'ended', from, to, event: entry.event, error: error_of(entry) });
    } else if (entry.worker || entry.event !== 'cancel') {
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
    const due = moment(task.start);
    if (task.state === 'created') return this.#wait('held', null);
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

export function timeline_of(task: Task, now: number): { spans: Span[]; left_out: number } {
  const history = task.history ?? [];
  const runs = history.filter((entry) => entry.event !== 'revive').length + (task.state === 'processing' ? 1 : 0);
  const left_out = history.length >= kept ? Math.max(0, (task.counters?.deliveries ?? 0) - runs) : 0;
  const maker = new Maker(task, left_out);
  for (const entry of history) maker.past(entry);
  maker.now();
  // What is only due later lasts now, and nothing after it has begun.
  const begun = maker.spans.filter((span) => span.from <= now);
  const last = begun.at(-1);
  if (last && last.to !== null && last.to > now) begun[begun.length - 1] = { ...last, to: null };
  return { spans: begun, left_out };
}
