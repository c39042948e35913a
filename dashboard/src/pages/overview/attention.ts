// What needs attention, the gravest first: what the server says, and what its numbers say. Trouble that many queues
// have is one line that opens.
import type { Alert } from '../../api/alerts';
import type { Stats } from '../../api/types';
import { bytes } from '../../format/bytes';
import { percent } from '../../format/number';
import { visible } from '../../format/visible';
import { path_of } from '../../router/routes';
import { condition_of } from './condition';
import { words } from './words';

export const tones = ['bad', 'warn', 'info'] as const;
export type Tone = (typeof tones)[number];

export interface Item {
  kind: string;
  key: string;
  tone: Tone;
  queue: string; // empty: the server
  count: number; // tasks that it is about, so that kinds can be compared
  text: string;
  to: string; // where the cause is; empty: nowhere here
  since?: string;
}

// Trouble of one kind: one queue, or many.
export interface Trouble {
  kind: string;
  key: string;
  tone: Tone;
  tasks: number; // of all of them
  items: [Item, ...Item[]]; // the greatest first
}

// From so many queues on they are one line.
const many = 4;
const dead = (queue: string) => `/dead?${new URLSearchParams({ queue })}`;
// Queues of the server itself, such as $webhooks.
export const is_internal = (queue: string): boolean => queue.startsWith('$');

function of_alert({ kind, queue = '', count, level, since, message }: Alert): Item {
  const about = { kind, key: `${kind} ${queue}`, queue, count, since };
  switch (kind) {
    case 'queue_deep':
      return { ...about, tone: 'warn', text: words.alerts.queue_deep(count), to: path_of.tasks({ queue, state: 'queued' }) };
    case 'no_take':
      return { ...about, tone: 'bad', text: words.alerts.no_take(count), to: path_of.queue(queue) };
    case 'dead_growing':
      return { ...about, tone: 'bad', text: words.alerts.dead_growing(count), to: dead(queue) };
    case 'leases_lost':
      return { ...about, tone: 'warn', text: words.alerts.leases_lost(count), to: '/workers' };
    case 'disk_low':
      return { ...about, tone: 'bad', text: words.alerts.disk_low(bytes(count)), to: '' };
    case 'store_failed':
      return { ...about, tone: 'bad', text: words.alerts.store_failed(visible(message)), to: '' };
    default: // of a newer server
      return { ...about, tone: level === 'error' ? 'bad' : 'warn', text: visible(message), to: queue ? path_of.queue(queue) : '' };
  }
}

function of_condition(one: Stats, now: number): Item | null {
  const { queue, ready } = one;
  const condition = condition_of(one, now);
  const item = (kind: string, tone: Tone, text: string): Item => ({ kind, key: `${kind} ${queue}`, tone, queue, count: ready, text, to: path_of.queue(queue) });
  if (condition === 'no_worker') return item('no_worker', 'bad', words.alerts.no_worker(ready));
  if (condition === 'never_asked') return item('never_asked', 'warn', words.alerts.never_asked(ready));
  if (condition === 'inactive' && ready > 0) return item('off', 'warn', words.alerts.inactive(ready));
  if (condition === 'paused' && ready > 0) return item('paused', 'info', words.alerts.paused(ready));
  return null;
}

// Of those that ended in the last minute; a few say nothing.
function of_failures({ queue, rates }: Stats): Item | null {
  const least = 5 / 60;
  const share = rates.finish >= least ? rates.fail / rates.finish : 0;
  if (share >= 0.2) {
    const tone = share >= 0.5 ? 'bad' : 'warn';
    return { kind: 'failing', key: `failing ${queue}`, tone, queue, count: rates.fail * 60, text: words.alerts.failing(percent(share)), to: dead(queue) };
  }
  const runs = rates.finish + rates.retry;
  if (rates.retry < least || rates.retry / runs < 0.5) return null;
  const text = words.alerts.retrying(percent(rates.retry / runs));
  const to = path_of.tasks({ queue, state: 'retrying' });
  return { kind: 'retrying', key: `retrying ${queue}`, tone: 'warn', queue, count: rates.retry * 60, text, to };
}

function items_of(stats: readonly Stats[], alerts: readonly Alert[], now: number): Item[] {
  const items = alerts.map(of_alert);
  const untaken = new Set(alerts.filter(({ kind }) => kind === 'no_take').map(({ queue }) => queue));
  for (const one of stats) {
    const stopped = untaken.has(one.queue) ? null : of_condition(one, now);
    if (stopped) items.push(stopped);
    const failing = of_failures(one);
    if (failing) items.push(failing);
  }
  return items;
}

// Of the same tone: the server itself, then users' queues, then its own ones; then what is about more tasks.
const rank = ({ queue }: Item): number => (queue === '' ? 0 : is_internal(queue) ? 2 : 1);
const graver = (a: Item, b: Item): number => rank(a) - rank(b) || b.count - a.count || a.queue.localeCompare(b.queue);

// Queues that have the same trouble.
function by_kind(items: readonly Item[]): Item[][] {
  const kinds = new Map<string, Item[]>();
  for (const item of items) {
    const name = `${item.tone} ${item.kind} ${is_internal(item.queue)}`;
    kinds.set(name, [...(kinds.get(name) ?? []), item]);
  }
  return [...kinds.values()];
}

const trouble = (items: [Item, ...Item[]]): Trouble => {
  const [{ kind, key, tone }] = items;
  return { kind, key: items.length > 1 ? `many ${tone} ${kind}` : key, tone, items, tasks: items.reduce((sum, { count }) => sum + count, 0) };
};

export function attention(stats: readonly Stats[], alerts: readonly Alert[], now: number): Trouble[] {
  const all = by_kind(items_of(stats, alerts, now)).flatMap((items) => {
    const [first, ...rest] = items.sort(graver);
    if (!first) return [];
    return items.length >= many ? [trouble([first, ...rest])] : items.map((item) => trouble([item]));
  });
  const order = (a: Trouble, b: Trouble): number =>
    tones.indexOf(a.tone) - tones.indexOf(b.tone) || rank(a.items[0]) - rank(b.items[0]) || b.tasks - a.tasks || graver(a.items[0], b.items[0]);
  return all.sort(order);
}
