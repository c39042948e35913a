import { get, part } from './client';
import type { Moment, Spread } from './types';

// What happened to tasks of one type; of `total` to all of them.
export interface TypePast {
  type: string;
  put: number;
  taken: number;
  completed: number;
  failed: number; // for good, dead ones among them
  dead: number;
  retried: number;
  lost: number;
  cancelled: number;
  rates: { put: number; take: number; finish: number; fail: number; retry: number };
  wait_ms?: Spread;
  run_ms?: Spread;
}

export interface TypesPast {
  since: Moment;
  total: TypePast;
  types: TypePast[];
}

export const spans = ['15m', '1h', '6h', '24h'] as const;
export type Span = (typeof spans)[number];

export const types_of = (queue: string, span: Span, signal?: AbortSignal) =>
  get<TypesPast>(`v1/queues/${part(queue)}/types`, { for: span }, signal);
