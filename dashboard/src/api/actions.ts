import { get } from './client';
import type { Moment } from './types';

// An action of a user.
export interface Action {
  at: Moment;
  last_at?: Moment; // of the last one like it
  count: number;
  operation: string; // pauseQueue
  subject?: string; // a queue, a task, a schedule
  request?: string; // the body, cut
  key?: string; // of whom; none: the server needs no keys
  name?: string;
  session?: boolean; // in a browser
  request_id?: string;
}

export interface ActionPage {
  actions: Action[];
  next?: string;
}

export const actions = (page: { cursor?: string | undefined; limit?: number }, signal?: AbortSignal) =>
  get<ActionPage>('v1/actions', page, signal);
