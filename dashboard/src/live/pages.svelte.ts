// A list with the newest first. Its first page is polled, an older one is read on demand.
//
//   const list = pages((cursor, signal) => api.things(cursor, signal), { rows: (page) => page.things, key: (one) => one.id, every: () => 5000 });
//   list.rows, list.more(), list.newest.problem
import { quietly } from '../shell/quietly';
import { poll, type Polled } from './poll.svelte';

const most_slipped = 1000; // then the list begins anew: a page may be open for weeks

interface Options<Page, Row> {
  rows: (page: Page) => readonly Row[];
  key: (row: Row) => string;
  every: (newest: readonly Row[]) => number; // milliseconds
}

export interface Paged<Page, Row> {
  readonly newest: Polled<Page>;
  readonly rows: readonly Row[];
  readonly key: (row: Row) => string;
  readonly has_more: boolean;
  readonly busy: boolean; // an older page is on its way
  more(): Promise<void>;
}

// Only while a component is made.
export function pages<Page extends { next?: string }, Row>(
  load: (cursor: string | undefined, signal?: AbortSignal) => Promise<Page>,
  { rows: rows_of, key, every }: Options<Page, Row>,
): Paged<Page, Row> {
  let older = $state.raw<readonly Row[]>([]);
  let next = $state<string | null>(null); // of the oldest page that is shown; null: that is the newest
  let busy = $state(false);
  let pause = 0;
  let slipped = 0; // rows that have left the first page since older ones are shown

  function not_among(some: readonly Row[], rows: readonly Row[]): readonly Row[] {
    const seen = new Set(some.map(key));
    return rows.filter((row) => !seen.has(key(row)));
  }
  function keep_in_sight(kept: readonly Row[]): void {
    slipped += kept.length - older.length;
    older = kept;
    if (slipped <= most_slipped) return;
    [older, next, slipped] = [[], null, 0];
  }
  const newest = poll(
    async (signal) => {
      const page = await load(undefined, signal);
      pause = every(rows_of(page));
      // What no longer fits on the first page stays in sight, where older ones follow; but not for ever.
      if (next !== null) keep_in_sight(not_among(rows_of(page), rows));
      return page;
    },
    { every: () => pause },
  );
  const rows = $derived.by(() => {
    const first = newest.value ? rows_of(newest.value) : [];
    return [...first, ...not_among(first, older)];
  });
  const cursor = $derived(next ?? newest.value?.next ?? '');

  return {
    newest,
    key,
    get rows() {
      return rows;
    },
    get busy() {
      return busy;
    },
    get has_more() {
      return cursor !== '';
    },
    async more(): Promise<void> {
      busy = true;
      const page = await quietly(() => load(cursor));
      busy = false;
      if (!page) return;
      older = [...older, ...rows_of(page)];
      next = page.next ?? '';
    },
  };
}
