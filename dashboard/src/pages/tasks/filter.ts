// Which tasks are looked for. The address has all of it, so that it can be passed on.
import type { BulkAction, BulkFilter } from '../../api/bulk';
import type { Query } from '../../api/client';
import { is_final, states, type TaskState } from '../../api/types';
import { iso_of } from '../../format/local_input';

export const spans = { '15m': 900_000, '1h': 3_600_000, '24h': 86_400_000, '7d': 604_800_000 } as const;
export type Span = keyof typeof spans;
const is_span = (text: string): text is Span => Object.hasOwn(spans, text);

// Parameters that are texts and mean the same here and in the API.
export const plain = ['queue', 'type', 'client_id', 'tag', 'group', 'priority', 'error_code', 'error_group', 'text'] as const;
export type Plain = (typeof plain)[number];
const all = [...plain, 'parent', 'waits_for', 'parked', 'state', 'within', 'from', 'until'] as const;

export interface Filter extends Record<Plain, string> {
  parent: string;
  waits_for: string; // those that wait for this task
  parked: boolean;
  states: TaskState[];
  within: Span | '';
  from: string;
  until: string;
}

export function filter_of(query: URLSearchParams): Filter {
  const text = (name: string) => query.get(name) ?? '';
  const within = text('within');
  const asked = text('state').split(',');
  return {
    ...(Object.fromEntries(plain.map((name) => [name, text(name)])) as Record<Plain, string>),
    parent: text('parent'),
    waits_for: text('waits_for'),
    parked: text('parked') === 'true',
    states: states.filter((state) => asked.includes(state)),
    within: is_span(within) ? within : '',
    from: text('from'),
    until: text('until'),
  };
}

// What neither counters nor operations on all that match know.
const is_special = (filter: Filter): boolean => filter.parent !== '' || filter.waits_for !== '' || filter.parked;

// Nothing of a filter is left.
export const cleared: Record<string, null> = Object.fromEntries([...all, 'cursor'].map((name) => [name, null]));

export const is_empty = (filter: Filter): boolean =>
  filter.states.length === 0 && !filter.within && !filter.from && !filter.until && !is_special(filter) && plain.every((name) => !filter[name]);

// Counters of queues know how many fit.
export const is_counted = (filter: Filter): boolean =>
  !filter.within && !filter.from && !filter.until && !is_special(filter) && plain.every((name) => name === 'queue' || !filter[name]);

const moments = (filter: Filter, now: number) => ({
  created_from: filter.within ? iso_of(now - spans[filter.within]) : filter.from,
  created_until: filter.until,
});

export const query_of = (filter: Filter, now: number): Query => ({
  ...Object.fromEntries(plain.map((name) => [name, filter[name]])),
  parent: filter.parent,
  waits_for: filter.waits_for,
  parked: filter.parked,
  state: filter.states,
  ...moments(filter, now),
});

export const actions = ['retry', 'cancel', 'priority', 'move', 'remove'] as const satisfies readonly BulkAction[];
export type Action = (typeof actions)[number];

// What may be done to a task in that state.
export function applies(action: Action, state: TaskState): boolean {
  switch (action) {
    case 'retry':
      return state === 'failed' || state === 'dead' || state === 'cancelled';
    case 'cancel':
      return !is_final(state);
    case 'priority':
      return !is_final(state) && state !== 'processing';
    case 'move':
      return state !== 'processing' && state !== 'completed';
    case 'remove':
      return state !== 'processing';
  }
}

// The states that an action on all that match is about. Without states in the filter a retry means dead
// letters, not cancelled tasks.
export function states_for(action: Action, filter: Filter): TaskState[] {
  if (filter.states.length > 0) return filter.states.filter((state) => applies(action, state));
  if (action === 'retry') return ['failed', 'dead'];
  return states.filter((state) => applies(action, state));
}

// Whether the server can act on all that match: it finds neither relatives of one task that way nor parked ones.
export const may_be_bulk = (filter: Filter): boolean => !is_special(filter);

export function bulk_filter(action: Action, filter: Filter, now: number): BulkFilter {
  if (!may_be_bulk(filter)) throw new Error('an operation on all that match cannot be limited to relatives of a task or to parked ones');
  const { created_from, created_until } = moments(filter, now);
  return {
    ...Object.fromEntries(plain.filter((name) => name !== 'priority' && filter[name]).map((name) => [name, filter[name]])),
    ...(filter.priority && { priority: Number(filter.priority) }),
    state: states_for(action, filter),
    ...(created_from && { created_from }),
    ...(created_until && { created_until }),
  };
}
