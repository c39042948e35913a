import { get, part, post } from './client';
import { is_final, type Moment, type TaskError, type TaskState } from './types';

export type BulkAction = 'cancel' | 'retry' | 'remove' | 'priority' | 'move';

export interface BulkFilter {
  queue?: string;
  state?: TaskState[];
  type?: string;
  client_id?: string;
  group?: string;
  tag?: string;
  priority?: number;
  created_from?: Moment;
  created_until?: Moment;
  text?: string;
  error_code?: string;
  error_group?: string;
}

// What an action needs besides tasks: a priority, a queue to move to; a cancel may have a reason.
export interface BulkTarget {
  priority?: number;
  to?: string;
  reason?: string;
}

export interface BulkRequest extends BulkTarget {
  action: BulkAction;
  filter: BulkFilter;
  dry_run?: boolean;
}

export interface BulkOperation extends BulkRequest {
  id: string;
  state: TaskState;
  cancel_requested?: boolean;
  about: number;
  looked_at: number;
  matched: number;
  done: number;
  refused: number;
  refusal?: string;
  created_at: Moment;
  started_at?: Moment;
  finished_at?: Moment;
  error?: TaskError;
}

export const start_bulk = (request: BulkRequest) => post<BulkOperation>('v1/bulk', request);
export const bulk = (id: string, signal?: AbortSignal) => get<BulkOperation>(`v1/bulk/${part(id)}`, {}, signal);
export const bulks = (cursor?: string, signal?: AbortSignal) =>
  get<{ operations: BulkOperation[]; next?: string }>('v1/bulk', { cursor }, signal);
export const cancel_bulk = (id: string, reason = '') => post<BulkOperation>(`v1/bulk/${part(id)}/cancel`, reason ? { reason } : {});

export const bulk_ended = (operation: BulkOperation): boolean => is_final(operation.state);
