import { get, part, patch, post, remove } from './client';
import type { History, Queue, Stats } from './types';

export const stats = (signal?: AbortSignal) =>
  get<{ queues: Stats[] }>('v1/stats', {}, signal).then((answer) => answer.queues);
export const stats_of = (queue: string, signal?: AbortSignal) => get<Stats>(`v1/queues/${part(queue)}/stats`, {}, signal);
export const queues = (signal?: AbortSignal) =>
  get<{ queues: Queue[] }>('v1/queues', {}, signal).then((answer) => answer.queues);
export const queue = (name: string, signal?: AbortSignal) => get<Queue>(`v1/queues/${part(name)}`, {}, signal);

export const create_queue = (settings: Record<string, unknown>) => post<Queue>('v1/queues', settings);
export const change_queue = (name: string, changes: Record<string, unknown>) => patch<Queue>(`v1/queues/${part(name)}`, changes);
export const pause_queue = (name: string, for_ms?: number) =>
  post<Queue>(`v1/queues/${part(name)}/pause`, for_ms === undefined ? {} : { for_ms });
export const drain_queue = (name: string) => post<Queue>(`v1/queues/${part(name)}/drain`);
export const clear_queue = (name: string) => post<{ removed: number }>(`v1/queues/${part(name)}/clear`);
export const remove_queue = (name: string, force: boolean) => remove(`v1/queues/${part(name)}`, { force });

export const history = (
  of: { queue?: string; type?: string; step?: '1m' | '1h'; by?: 'queue' | 'type'; from?: string; until?: string },
  signal?: AbortSignal,
) => get<History>('v1/history', of, signal);
