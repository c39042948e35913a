// All pages, and the paths they have. A page is loaded when it is first visited.
import type { Component } from 'svelte';
import type { Scope } from '../api/types';

export type Name =
  | 'overview'
  | 'queue'
  | 'tasks'
  | 'task'
  | 'dead'
  | 'schedules'
  | 'workers'
  | 'events'
  | 'operations'
  | 'actions'
  | 'keys'
  | 'missing';

export interface Place {
  name: Name;
  value: string; // what stands in place of {…}, decoded; empty where there is nothing
}

interface Route {
  name: Name;
  pattern: string;
  load: () => Promise<{ default: Component<{ value: string }> | Component<Record<string, never>> }>;
  key?: string; // `g` and this letter lead there
  scope?: Scope; // without it a user is not led there
}

export const routes: readonly Route[] = [
  { name: 'overview', pattern: '/', key: 'o', load: () => import('../pages/overview/Page.svelte') },
  { name: 'queue', pattern: '/queues/{}', load: () => import('../pages/queue/Page.svelte') },
  { name: 'tasks', pattern: '/tasks', key: 't', load: () => import('../pages/tasks/Page.svelte') },
  { name: 'task', pattern: '/tasks/{}', load: () => import('../pages/task/Page.svelte') },
  { name: 'dead', pattern: '/dead', key: 'd', load: () => import('../pages/dead/Page.svelte') },
  { name: 'schedules', pattern: '/schedules', key: 's', load: () => import('../pages/schedules/Page.svelte') },
  { name: 'workers', pattern: '/workers', key: 'w', load: () => import('../pages/workers/Page.svelte') },
  { name: 'events', pattern: '/events', key: 'e', load: () => import('../pages/events/Page.svelte') },
  { name: 'operations', pattern: '/operations', key: 'b', load: () => import('../pages/operations/Page.svelte') },
  { name: 'actions', pattern: '/actions', key: 'a', load: () => import('../pages/actions/Page.svelte') },
  { name: 'keys', pattern: '/keys', key: 'k', scope: 'admin', load: () => import('../pages/keys/Page.svelte') },
];

export const load_missing = () => import('../pages/missing/Page.svelte');

export function place_of(path: string): Place {
  const clean = path.length > 1 ? path.replace(/\/+$/, '') : path;
  for (const { name, pattern } of routes) {
    if (pattern === clean) return { name, value: '' };
    if (!pattern.endsWith('{}')) continue;
    const before = pattern.slice(0, -2);
    const rest = clean.slice(before.length);
    if (!clean.startsWith(before) || rest === '' || rest.includes('/')) continue;
    try {
      return { name, value: decodeURIComponent(rest) };
    } catch {
      break; // not percent-encoded as it should be
    }
  }
  return { name: 'missing', value: path };
}

// Paths that carry a name.
export const path_of = {
  queue: (name: string) => `/queues/${encodeURIComponent(name)}`,
  task: (id: string) => `/tasks/${encodeURIComponent(id)}`,
  tasks: (filter: Record<string, string>) => `/tasks?${new URLSearchParams(filter)}`,
};
