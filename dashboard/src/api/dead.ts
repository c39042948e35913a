import { get } from './client';
import type { Moment } from './types';

export interface DeadSample {
  id: string;
  number: number;
  message: string;
  failed_at: Moment;
}

// Dead letters that died of the same thing.
export interface DeadGroup {
  key: string; // the error_group of a bulk operation
  queue: string;
  type?: string;
  code?: string;
  message: string; // what their messages have in common; `#` stands for what differs
  count: number;
  first_at: Moment;
  last_at: Moment;
  samples: DeadSample[];
}

export interface DeadGroups {
  groups: DeadGroup[];
  more: number;
  looked_at: number;
  total: number;
  complete: boolean; // false: counts are "at least"
  as_of: Moment;
}

export const dead_groups = (of: { queue?: string; type?: string }, signal?: AbortSignal) =>
  get<DeadGroups>('v1/dead/groups', of, signal);
