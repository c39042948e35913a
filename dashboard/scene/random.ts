// Numbers that look random and are always the same.
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  // From 0 up to 1.
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let t = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  }

  whole(least: number, most: number): number {
    return least + Math.floor(this.next() * (most - least + 1));
  }

  of<T>(values: readonly T[]): T {
    return values[this.whole(0, values.length - 1)] as T;
  }

  // A UUIDv7 of that moment.
  id(at: number): string {
    const hex = (digits: number) => Array.from({ length: digits }, () => this.whole(0, 15).toString(16)).join('');
    const time = Math.floor(at).toString(16).padStart(12, '0');
    return `${time.slice(0, 8)}-${time.slice(8)}-7${hex(3)}-9${hex(3)}-${hex(12)}`;
  }
}
