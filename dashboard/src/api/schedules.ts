import { ask, ask_text, get, part, post, remove } from './client';
import type { Moment, RetryRules } from './types';
import { member_of } from '../format/json';

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
  task: TaskOfTick;
}

// What each tick puts.
export interface TaskOfTick {
  queue: string | number;
  type?: string;
  payload?: unknown;
  payload_text?: string; // one that is not JSON
  payload_base64?: string; // nor text
  priority: number;
  delay_ms?: number;
  timeout_ms?: number;
  retry?: RetryRules;
  keep_for_ms?: number;
  keep_completed?: { for_ms: number };
  keep_dead?: { for_ms: number };
  unique?: { key: string; scope?: string; window_ms?: number; on_conflict?: string; max_delay_ms?: number };
  group?: string;
  cost?: number; // none: 1
  tags?: string[];
  callback?: { url: string };
}

// With the payload of its tasks byte for byte, as the server sent it.
export interface WholeSchedule {
  schedule: Schedule;
  payload: string | null;
}

export interface SchedulePage {
  schedules: Schedule[];
  next?: string;
}

export const schedules = (of: { queue?: string; limit?: number; cursor?: string }, signal?: AbortSignal) =>
  get<SchedulePage>('v1/schedules', of, signal);
export async function schedule(name: string, signal?: AbortSignal): Promise<WholeSchedule> {
  const text = await ask_text('GET', `v1/schedules/${part(name)}`, signal ? { signal } : {});
  return { schedule: JSON.parse(text) as Schedule, payload: member_of(member_of(text, 'task') ?? '{}', 'payload') };
}
export const next_ticks = (name: string, count: number, signal?: AbortSignal) =>
  get<{ next: Moment[] }>(`v1/schedules/${part(name)}/next`, { count }, signal).then((answer) => answer.next);

// The whole request as text: the payload may have numbers that JavaScript cannot hold.
export const create_schedule = (json: string) => ask<Schedule>('POST', 'v1/schedules', { text: json });
export const change_schedule = (name: string, json: string) => ask<Schedule>('PATCH', `v1/schedules/${part(name)}`, { text: json });
export const pause_schedule = (name: string) => post<Schedule>(`v1/schedules/${part(name)}/pause`);
export const resume_schedule = (name: string) => post<Schedule>(`v1/schedules/${part(name)}/resume`);
export const run_schedule = (name: string) => post<{ id: string }>(`v1/schedules/${part(name)}/run`);
export const remove_schedule = (name: string) => remove(`v1/schedules/${part(name)}`);
