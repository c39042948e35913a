import { get, part, patch, post, remove } from './client';
import type { Moment } from './types';

export interface TickRule {
  cron?: string;
  zone?: string;
  dst?: 'skip' | 'once' | 'both';
  every_ms?: number;
  anchor?: Moment;
}

export interface Schedule {
  name: string;
  rule: TickRule;
  overlap: 'skip' | 'queue' | 'allow';
  missed: 'skip' | 'one' | 'all';
  missed_most: number;
  jitter_ms?: number;
  paused?: boolean;
  next: Moment;
  last?: Moment;
  last_task?: string;
  fired?: number;
  skipped?: number;
  created_at: Moment;
  updated_at: Moment;
  task: { queue: string | number; type?: string; priority?: number; payload?: unknown };
}

export interface SchedulePage {
  schedules: Schedule[];
  next?: string;
}

export const schedules = (of: { queue?: string; limit?: number; cursor?: string }, signal?: AbortSignal) =>
  get<SchedulePage>('v1/schedules', of, signal);
export const next_ticks = (name: string, count: number, signal?: AbortSignal) =>
  get<{ next: Moment[] }>(`v1/schedules/${part(name)}/next`, { count }, signal).then((answer) => answer.next);

export const create_schedule = (schedule: object) => post<Schedule>('v1/schedules', schedule);
export const change_schedule = (name: string, changes: object) => patch<Schedule>(`v1/schedules/${part(name)}`, changes);
export const pause_schedule = (name: string) => post<Schedule>(`v1/schedules/${part(name)}/pause`);
export const resume_schedule = (name: string) => post<Schedule>(`v1/schedules/${part(name)}/resume`);
export const run_schedule = (name: string) => post<{ id: string }>(`v1/schedules/${part(name)}/run`);
export const remove_schedule = (name: string) => remove(`v1/schedules/${part(name)}`);
