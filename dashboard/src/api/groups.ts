// Groups of a queue: the tasks with the same `group`.
import { words } from '../words/shell';
import { get, part, patch, remove } from './client';
import { Problem } from './problem';
import type { Group, GroupPage } from './types';

const of_queue = (queue: string): string => `v1/queues/${part(queue)}/groups`;

// Browsers take `.` and `..` out of a path, however they are written: the request would be about the queue.
function path_to(queue: string, group: string): string {
  if (group === '.' || group === '..') throw new Problem({ status: 0, code: 'invalid', detail: words.failure.no_path(group) });
  return `${of_queue(queue)}/${part(group)}`;
}

export const groups = (queue: string, page: { name?: string; after?: string; limit?: number }, signal?: AbortSignal) =>
  get<GroupPage>(of_queue(queue), page, signal);
export const change_group = async (queue: string, group: string, changes: Record<string, unknown>) => patch<Group>(path_to(queue, group), changes);
export const reset_group = async (queue: string, group: string) => remove(path_to(queue, group));
