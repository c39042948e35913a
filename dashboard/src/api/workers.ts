import { get } from './client';
import type { Moment } from './types';

export interface QueueReport {
  queue: string;
  processors: number; // that may work on it now
  most: number; // that ever may
  busy: number;
  handled?: number;
  errors?: number;
  retried?: number;
  busy_ms?: number;
  last_error?: string;
}

export interface HeldTask {
  id: string;
  queue: string;
  type?: string;
  since: Moment;
  until: Moment;
}

export interface Worker {
  name: string;
  queues?: string[];
  first_seen: Moment;
  last_seen: Moment;
  taken: number;
  settled: number;
  holding: number;
  tasks?: string[];
  running?: HeldTask[];
  report?: { processors: number; queues?: QueueReport[]; stopping?: boolean };
  assignments?: { queue: string; processors: number }[];
}

export interface Workers {
  workers: Worker[];
  manager?: { enabled: boolean; desired: number };
}

export const workers = (signal?: AbortSignal) => get<Workers>('v1/workers', {}, signal);
