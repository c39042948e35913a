// What is selected: some tasks, on this page and on those before, or all that match.
import type { Task } from '../../api/types';

export const most = 1000; // the API takes no more at once

export class Selection {
  some = $state.raw<ReadonlyMap<string, Task>>(new Map());
  all = $state(false);
  #last = -1; // the row that was selected last, for ranges

  get count(): number {
    return this.some.size;
  }

  has(task: Task): boolean {
    return this.all || this.some.has(task.id);
  }

  toggle(rows: readonly Task[], at: number, with_range = false): void {
    const task = rows[at];
    if (!task) return;
    // Of all that match, what one leaves out leaves those of this page.
    const next = this.all ? new Map(rows.map((one) => [one.id, one])) : new Map(this.some);
    this.all = false;
    const select = !next.has(task.id);
    const from = with_range && this.#last >= 0 ? Math.min(this.#last, at) : at;
    const to = with_range ? Math.max(this.#last, at) : at;
    for (const one of rows.slice(from, to + 1)) {
      if (!select) next.delete(one.id);
      else if (next.size < most) next.set(one.id, one);
    }
    this.#last = at;
    this.some = next;
  }

  page(rows: readonly Task[], select: boolean): void {
    const next = this.all ? new Map<string, Task>() : new Map(this.some);
    this.all = false;
    for (const task of rows) {
      if (!select) next.delete(task.id);
      else if (next.size < most) next.set(task.id, task);
    }
    this.some = next;
  }

  clear(): void {
    this.some = new Map();
    this.all = false;
    this.#last = -1;
  }
}
