// The last minutes of each queue, as far as this page has seen them: a ring a queue, of fixed length.
import type { Stats } from '../../api/types';

const length = 60;

export class Samples {
  queues = 0;
  #done = new Map<string, number[]>();

  take(all: Stats[]): Stats[] {
    this.queues = all.length;
    const seen = new Set(all.map((one) => one.queue));
    for (const name of this.#done.keys()) if (!seen.has(name)) this.#done.delete(name);
    for (const one of all) {
      const values = this.#done.get(one.queue) ?? [];
      values.push(one.rates.finish);
      if (values.length > length) values.shift();
      this.#done.set(one.queue, values);
    }
    return all;
  }

  done(queue: string): number[] {
    return [...(this.#done.get(queue) ?? [])];
  }
}
