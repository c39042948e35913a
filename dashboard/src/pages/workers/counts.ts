// What follows from what a worker says, and when it said it.
import type { Worker } from '../../api/workers';
import { moment } from '../../format/time';

// Those that report do it every five seconds; others ask for tasks every minute at least.
const patience = (worker: Worker): number => (worker.report ? 30_000 : 90_000);

export const is_silent = (worker: Worker, now: number): boolean => now - moment(worker.last_seen) > patience(worker);

export const processors_of = (worker: Worker): number | null => worker.report?.processors ?? null;
export const busy_of = (worker: Worker): number => (worker.report?.queues ?? []).reduce((sum, one) => sum + one.busy, 0);
// What workers can work at once, as far as they report it; those that do not are counted apart.
export interface Capacity {
  processors: number;
  busy: number;
  reporting: number; // workers
  unknown: number; // workers that report nothing
}
export function capacity_of(workers: readonly Worker[]): Capacity {
  const reporting = workers.filter((worker) => worker.report);
  return {
    processors: reporting.reduce((sum, worker) => sum + (processors_of(worker) ?? 0), 0),
    busy: reporting.reduce((sum, worker) => sum + busy_of(worker), 0),
    reporting: reporting.length,
    unknown: workers.length - reporting.length,
  };
}

export const errors_of = (worker: Worker): number => (worker.report?.queues ?? []).reduce((sum, one) => sum + (one.errors ?? 0), 0);

// Those it asks for, and those it reports.
export const queues_of = (worker: Worker): string[] =>
  [...new Set([...(worker.queues ?? []), ...(worker.report?.queues ?? []).map((one) => one.queue)])].sort();

export const works_on = (worker: Worker, queue: string): boolean => queues_of(worker).includes(queue);

export function fits(worker: Worker, text: string): boolean {
  const parts = [worker.name, ...queues_of(worker), ...(worker.running ?? []).map((task) => task.type ?? '')];
  return parts.some((part) => part.toLowerCase().includes(text.toLowerCase()));
}

// Those that are there come first.
export const in_order = (workers: Worker[], now: number): Worker[] =>
  [...workers].sort((a, b) => Number(is_silent(a, now)) - Number(is_silent(b, now)) || (a.name < b.name ? -1 : 1));
