// The rows of the page. A filter that fits few tasks may take several requests: rows are shown as they
// are found, and looking goes on until the page is full, everything was looked at, or it is stopped.
import type { Query } from '../../api/client';
import { problem_of, was_aborted, type Problem } from '../../api/problem';
import * as api from '../../api/tasks';
import type { Task } from '../../api/types';
import { moment } from '../../format/time';
import { clock } from '../../live/clock.svelte';

export const page_size = 50;
const patience = { plain: 400_000, text: 20_000 }; // looked at before the user must say "go on"
const probe = 20;
const dear = 5000; // looked at: not again and again

export class Listing {
  tasks = $state.raw<Task[]>([]);
  at = $state(0); // when they came
  next = $state('');
  looked_at = $state(0);
  problem = $state.raw<Problem | null>(null);
  loading = $state(true); // nothing of this filter has come yet
  walking = $state(false);
  paused = $state(false); // stopped before the page was full
  newer = $state(false); // there are tasks above the first row
  #query: Query = {};
  #cursor = '';
  #leave = new AbortController();

  start(query: Query, cursor: string): void {
    this.#leave.abort();
    this.#query = query;
    this.#cursor = cursor;
    this.loading = true;
    this.newer = false;
    this.looked_at = 0;
    void this.#walk([], cursor);
  }

  stop(): void {
    this.#leave.abort();
    this.walking = false;
    this.paused = this.next !== '';
  }

  // After a stop, from there.
  go_on(): void {
    this.looked_at = 0;
    void this.#walk(this.tasks, this.next);
  }

  leave(): void {
    this.#leave.abort();
  }

  async #walk(found: Task[], from: string): Promise<void> {
    this.#leave.abort();
    const leave = (this.#leave = new AbortController());
    const most = this.#query.text ? patience.text : patience.plain;
    let tasks = found;
    let cursor: string | undefined = from;
    this.walking = true;
    this.paused = false;
    // For the rows of a page. While few match, payloads of all that are looked at would be read for it.
    let preview = true;
    try {
      do {
        const limit: number = page_size - tasks.length;
        const page = await api.tasks({ ...this.#query, limit, cursor, preview }, leave.signal);
        preview = this.#query.text !== '';
        if (leave.signal.aborted) return;
        tasks = [...tasks, ...this.#shown(page.tasks)];
        cursor = page.next;
        this.looked_at += page.looked_at;
        this.#show(tasks, cursor);
      } while (cursor && tasks.length < page_size && this.looked_at < most && !(await this.#is_past(cursor, leave.signal)));
      if (leave.signal.aborted) return;
      this.paused = tasks.length < page_size && cursor !== undefined;
      this.walking = false;
    } catch (error) {
      if (was_aborted(error)) return;
      this.problem = problem_of(error);
      if (this.loading) this.tasks = []; // they are of another filter
      this.loading = false;
      this.walking = false;
    }
  }

  // Whether what comes next was put before the time that is asked for. All that follows was then, too, unless
  // tasks were imported; so looking stops here, but can be gone on with.
  async #is_past(cursor: string, signal: AbortSignal): Promise<boolean> {
    const from = this.#query.created_from;
    if (typeof from !== 'string' || from === '') return false;
    const page = await api.tasks({ queue: this.#query.queue, limit: 1, cursor }, signal);
    const next = page.tasks[0];
    return next !== undefined && moment(next.created_at) < moment(from);
  }

  #show(tasks: Task[], next: string | undefined): void {
    this.tasks = tasks;
    this.next = next ?? '';
    this.at = clock.always;
    this.problem = null;
    this.loading = false;
  }

  // Tasks of the server's own queues are shown to who asks for such a queue.
  #shown(tasks: Task[]): Task[] {
    return this.#query.queue ? tasks : tasks.filter((task) => !task.queue.startsWith('$'));
  }

  // The same rows as they are now. None moves because others came: those are told of.
  async refresh(signal: AbortSignal): Promise<void> {
    if (this.walking || this.looked_at > dear || this.#query.text) return;
    const first = this.tasks[0];
    const query = this.#query;
    const cursor = first ? String(first.number + 1) : this.#cursor;
    const page = await api.tasks({ ...query, limit: page_size, cursor, preview: true }, signal);
    const newest = first && !this.#cursor ? await api.tasks({ ...query, limit: probe }, signal) : null;
    if (query !== this.#query || this.walking) return;
    if (page.next && page.tasks.length < page_size) return; // it would have to walk
    this.#show(this.#shown(page.tasks), page.next);
    const top = this.#shown(newest?.tasks ?? [])[0];
    this.newer = (top?.number ?? 0) > (first?.number ?? Infinity);
  }
}
