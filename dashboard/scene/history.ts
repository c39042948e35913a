// The past of a server as it keeps it: a memo a minute for a day, a memo an hour for a month
// (src/broker/history_memo.h). So that charts show something without waiting for it.
import type { Random } from './random.ts';

const counted = ['put', 'existing', 'taken', 'completed', 'failed', 'dead', 'retried', 'snoozed', 'given_back', 'lost', 'cancelled', 'expired'];

export interface Traffic {
  queue: string;
  type: string;
  a_minute: number; // put, on a usual afternoon
  wait_ms: number;
  run_ms: number;
  retried: number; // share
  dead: number; // share
}

class Bytes {
  #all: number[] = [];

  number(n: number): this {
    let rest = Math.floor(n);
    for (; rest >= 0x80; rest = Math.floor(rest / 128)) this.#all.push((rest % 128) | 0x80);
    this.#all.push(rest);
    return this;
  }
  text(text: string): this {
    const bytes = Buffer.from(text);
    this.number(bytes.length);
    this.#all.push(...bytes);
    return this;
  }
  base64(): string {
    return Buffer.from(this.#all).toString('base64');
  }
}

function bucket_of(ms: number): number {
  const value = Math.max(0, Math.floor(ms));
  if (value < 8) return value;
  const shift = Math.floor(Math.log2(value)) - 2;
  return Math.min(4 * shift + Math.floor(value / 2 ** shift), 103);
}

// So many durations around `usual`, with a tail.
function histogram(bytes: Bytes, count: number, usual: number, random: Random): void {
  const buckets = new Map<number, number>();
  const draws = Math.min(count, 24);
  for (let i = 0; i < draws; ++i) {
    const spread = Math.exp((random.next() + random.next() + random.next() - 1.5) * 1.1);
    const bucket = bucket_of(usual * spread * (random.next() < 0.04 ? 6 : 1));
    buckets.set(bucket, (buckets.get(bucket) ?? 0) + Math.max(1, Math.round(count / draws)));
  }
  bytes.number(buckets.size);
  let before = 0;
  for (const bucket of [...buckets.keys()].sort((a, b) => a - b)) {
    bytes.number(bucket - before).number(buckets.get(bucket) ?? 1);
    before = bucket;
  }
}

// Little at night, most in the afternoon.
function busyness(at: number): number {
  const hour = (at / 3_600_000) % 24;
  return 0.35 + 0.65 * Math.max(0, Math.sin(((hour - 5) / 24) * 2 * Math.PI * 0.9 + 0.1)) + 0.12 * Math.sin(at / 1_500_000);
}

function memo_value(traffic: readonly Traffic[], at: number, length: number, random: Random, trouble: number): string {
  const names = [...new Set(traffic.map((one) => one.queue))].sort();
  const bytes = new Bytes().number(1).number(at + length - 1000).number(names.length);
  for (const name of names) {
    const types = traffic.filter((one) => one.queue === name).sort((a, b) => (a.type < b.type ? -1 : 1));
    const load = busyness(at) * (0.85 + random.next() * 0.3);
    const usual = types.reduce((sum, one) => sum + one.a_minute, 0);
    bytes.text(name).number(usual * load * (0.2 + random.next() * 0.3)).number(1 + random.whole(0, 6)).number(types.length);
    for (const type of types) {
      const put = Math.max(1, Math.round(type.a_minute * (length / 60_000) * load));
      const dead = Math.round(put * type.dead * trouble * (0.5 + random.next()));
      const retried = Math.round(put * type.retried * trouble * (0.5 + random.next()));
      const counts: Record<string, number> = { put, taken: put + retried, completed: Math.max(0, put - dead), dead, retried };
      const given = counted.filter((what) => (counts[what] ?? 0) > 0);
      bytes.text(type.type).number(given.reduce((bits, what) => bits | (1 << counted.indexOf(what)), 0));
      for (const what of given) bytes.number(counts[what] ?? 0);
      histogram(bytes, put + retried, type.wait_ms * (0.6 + load), random);
      histogram(bytes, put, type.run_ms, random);
    }
  }
  return bytes.base64();
}

interface Memo {
  memo: { key: string; value_base64: string; version: number; expires: string };
}

export function history_memos(traffic: readonly Traffic[], now: number, random: Random): Memo[] {
  const memos: Memo[] = [];
  const add = (step: string, length: number, steps: number, kept: number) => {
    const last = Math.floor(now / length) * length;
    for (let i = steps; i >= 1; --i) {
      const at = last - i * length;
      // Something went wrong about an hour and a half ago.
      const trouble = now - at < 100 * 60_000 && now - at > 20 * 60_000 ? 9 : 1;
      const key = `$history/${step}/${new Date(at).toISOString()}`;
      memos.push({ memo: { key, value_base64: memo_value(traffic, at, length, random, trouble), version: 1, expires: new Date(at + kept).toISOString() } });
    }
  };
  add('1m', 60_000, 24 * 60, 25 * 3_600_000);
  add('1h', 3_600_000, 24 * 14, 31 * 86_400_000);
  return memos;
}
