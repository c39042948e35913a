import type { BulkAction, BulkTarget } from './bulk';
import { ask, ask_text, get, part, patch, post, remove, type Query } from './client';
import type { Attempt, Graph, LogLine, Moment, Task, TaskError, TaskPage, TaskState } from './types';
import { json_problem, member_of, object_of } from '../format/json';

const at = (id: string) => `v1/tasks/${part(id)}`;

export interface Explanation {
  id: string;
  state: TaskState;
  gate: 'final' | 'running' | 'held' | 'not_due' | 'inactive' | 'paused' | 'concurrency' | 'rate' | 'no_worker' | 'behind' | 'next' | 'parked' | 'waits_for' | 'group_paused' | 'group_concurrency' | 'group_rate' | 'group_serial';
  sentence: string;
  until?: Moment;
  ahead?: number;
  estimate?: Moment;
}

// A task and those parts of it that are shown and copied byte for byte, as the server sent them.
export interface WholeTask {
  task: Task;
  payload: string | null;
  result: string | null;
  metadata: string | null;
  checkpoint: string | null;
  answer: string | null;
}

export interface Relative {
  id: string;
  queue: string;
  type?: string;
  state: TaskState;
}

export interface Delivery {
  id: string;
  state: TaskState;
  attempts: number;
  next?: Moment;
  last_status?: string;
  history: Attempt[];
}

export interface Family {
  parent?: Relative;
  children: Relative[];
  deliveries: Delivery[];
  looked_at: number;
  complete: boolean;
}

export interface Parent {
  id: string;
  state?: TaskState; // none: it was removed, or the key may not see it
  waits: boolean;
  queue?: string;
  type?: string;
  finished_at?: Moment;
  error?: TaskError;
}

export interface Parents {
  parents: Parent[];
  total: number;
  waits_for: number;
  next?: number;
}

export interface ActionAnswer {
  done: number;
  refused: number;
  results: { id: string; state?: TaskState; error?: { code: string; message: string } }[];
}

export const tasks = (filter: Query, signal?: AbortSignal) => get<TaskPage>('v1/tasks', filter, signal);

// The beginning of the payload of one task; empty: it has none, or is gone.
export async function preview_of(queue: string, number: number, signal?: AbortSignal): Promise<string> {
  const page = await tasks({ queue, cursor: number + 1, limit: 1, preview: true }, signal);
  return page.tasks.find((one) => one.number === number)?.preview ?? '';
}

export async function task(id: string, signal?: AbortSignal): Promise<WholeTask> {
  const text = await ask_text('GET', at(id), signal ? { signal } : {});
  return {
    task: JSON.parse(text) as Task,
    payload: member_of(text, 'payload'),
    result: member_of(text, 'result'),
    metadata: member_of(text, 'metadata'),
    checkpoint: member_of(text, 'checkpoint'),
    answer: member_of(text, 'answer'),
  };
}

export const explain = (id: string, signal?: AbortSignal) => get<Explanation>(`${at(id)}/explain`, {}, signal);
export const family = (id: string, signal?: AbortSignal) => get<Family>(`${at(id)}/family`, {}, signal);
export const graph = (id: string, signal?: AbortSignal) => get<Graph>(`${at(id)}/graph`, {}, signal);
export const parents = (id: string, from: number, limit: number, signal?: AbortSignal) => get<Parents>(`${at(id)}/parents`, { from, limit }, signal);
export const log_of = (id: string, after: Moment | undefined, signal?: AbortSignal) =>
  get<{ log: LogLine[] }>(`${at(id)}/log`, { after }, signal).then((answer) => answer.log);

export const cancel_task = (id: string, reason = '') => post<{ state: TaskState }>(`${at(id)}/cancel`, reason ? { reason } : {});
export const retry_task = (id: string) => post<{ state: TaskState }>(`${at(id)}/retry`);
export const release_task = (id: string) => post<{ state: TaskState }>(`${at(id)}/release`);
// `data` is what the parked task waits for: JSON, which is sent as it is, to the digit, or any other text. If the
// task has changed since, it may wait for something else, and the release is refused.
export function answer_task(task: Pick<Task, 'id' | 'version'>, data?: string): Promise<{ state: TaskState }> {
  const members: Record<string, string> = {};
  if (task.version !== undefined) members['expect_version'] = String(task.version);
  if (data !== undefined && json_problem(data) === '') members['data'] = data;
  else if (data !== undefined) members['data_text'] = JSON.stringify(data);
  return ask('POST', `${at(task.id)}/release`, { text: object_of(members) });
}
export const redeliver_task = (id: string) => post<{ id: string }>(`${at(id)}/redeliver`);
export const remove_task = (id: string) => remove(at(id));
export const change_task = (id: string, changes: { priority?: number; delay_ms?: number; queue?: string }) =>
  patch<{ state: TaskState }>(at(id), changes);

export const act_on_tasks = (action: BulkAction, ids: readonly string[], how: BulkTarget = {}) =>
  post<ActionAnswer>('v1/tasks/actions', { action, ids, ...how });

// `json` is the whole request as text: its payload may have numbers that JavaScript cannot hold.
export const put_task = (json: string) => ask<{ id: string; state: TaskState; existing: boolean; replaced?: boolean }>('POST', 'v1/tasks', { text: json });
