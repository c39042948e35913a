// The one stream of events that a page has open. Every subscriber gets each event as it comes; nothing
// is kept here, so memory does not grow.
//
//   $effect(() => live.watch({ queue }, (event) => …, () => stats.refresh()));
//
// `missed` is called when events may have been missed: read anew what you show.
import { address } from '../api/client';
import type { TaskEvent } from '../api/types';

export interface Watched {
  queue?: string;
  type?: string;
  client_id?: string;
  id?: string;
  event?: string; // names, with commas between them
  most?: number; // events per second
}

type Hear = (event: TaskEvent) => void;

const kinds = [
  ...['put', 'taken', 'completed', 'failed', 'dead', 'retrying', 'snoozed', 'parked', 'given_back', 'lost'],
  ...['cancelled', 'expired', 'cancel_requested', 'retried', 'released', 'changed', 'moved', 'removed', 'progress'],
];
const longest = 30_000;
const hidden_for = 60_000; // a hidden page needs no events after that

class Live {
  state = $state<'off' | 'connecting' | 'live' | 'waiting'>('off');
  retry_at = $state(0); // when it is tried again, while waiting
  #wanted: { filter: Watched; hear: Hear; missed: () => void; skipped: (count: number) => void } | null = null;
  #source: EventSource | null = null;
  #last = ''; // the id of the newest event
  #failures = 0;
  #timer = 0;
  #hidden = 0;
  #asleep = false;

  constructor() {
    document.addEventListener('visibilitychange', () => this.#seen());
    addEventListener('online', () => this.#wanted && this.state === 'waiting' && this.#open());
  }

  // One at a time: a second watch takes the place of the first. Returns what ends it.
  watch(filter: Watched, hear: Hear, missed: () => void, skipped: (count: number) => void = () => {}): () => void {
    const wanted = { filter, hear, missed, skipped };
    this.#wanted = wanted;
    this.#last = '';
    this.#failures = 0;
    this.#open();
    return () => {
      if (this.#wanted !== wanted) return;
      this.#wanted = null;
      this.#close();
      this.state = 'off';
    };
  }

  #close(): void {
    clearTimeout(this.#timer);
    this.#source?.close();
    this.#source = null;
  }

  #open(woke = false): void {
    this.#close();
    const wanted = this.#wanted;
    if (!wanted) return;
    this.state = 'connecting';
    const query = { ...wanted.filter, ...(this.#last && { after: this.#last }) };
    const source = new EventSource(address('v1/events', query));
    this.#source = source;
    const began_anew = (woke || this.#failures > 0) && this.#last === '';
    source.onopen = () => {
      this.state = 'live';
      if (began_anew) wanted.missed();
      this.#failures = 0;
    };
    source.onerror = () => this.#failed();
    source.addEventListener('reset', () => wanted.missed());
    source.addEventListener('skipped', (event) => {
      wanted.skipped((JSON.parse(event.data as string) as { count: number }).count);
    });
    for (const what of kinds) {
      source.addEventListener(what, (event) => {
        this.#last = event.lastEventId;
        const data = JSON.parse(event.data as string) as Omit<TaskEvent, 'what' | 'number'>;
        wanted.hear({ ...data, what, number: event.lastEventId });
      });
    }
  }

  // The browser would try again by itself, but not for ever, and not slower and slower.
  #failed(): void {
    this.#close();
    if (!this.#wanted) return;
    this.#failures += 1;
    const wait = Math.min(longest, 1000 * 2 ** Math.min(this.#failures - 1, 5)) * (0.8 + Math.random() * 0.4);
    this.state = 'waiting';
    this.retry_at = Date.now() + wait;
    this.#timer = window.setTimeout(() => this.#open(), wait);
  }

  #seen(): void {
    clearTimeout(this.#hidden);
    if (document.hidden) {
      this.#hidden = window.setTimeout(() => {
        this.#asleep = true;
        this.#close();
      }, hidden_for);
    } else if (this.#asleep) {
      this.#asleep = false;
      this.#open(true);
    }
  }
}

export const live = new Live();
