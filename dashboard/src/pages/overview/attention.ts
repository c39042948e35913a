// What needs attention, the gravest first: what the server says, and what its numbers say.
import type { Alert } from '../../api/alerts';
import type { Stats } from '../../api/types';
import { bytes } from '../../format/bytes';
import { percent } from '../../format/number';
import { visible } from '../../format/visible';
import { path_of } from '../../router/routes';
import { condition_of } from './condition';
import { words } from './words';

export interface Item {
  key: string;
  tone: 'bad' | 'warn' | 'info';
  queue: string; // empty: the server
  text: string;
  to: string; // where the cause is; empty: nowhere here
  since?: string;
}

const order = { bad: 0, warn: 1, info: 2 };
const dead = (queue: string) => `/dead?${new URLSearchParams({ queue })}`;

function of_alert({ kind, queue = '', count, level, since, message }: Alert): Item {
  const about = { key: `${kind} ${queue}`, queue, since };
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
  const to = path_of.queue(queue);
  if (condition === 'no_worker') return { key: `no_worker ${queue}`, tone: 'bad', queue, text: words.alerts.no_worker(ready), to };
  if (condition === 'never_asked') return { key: `no_worker ${queue}`, tone: 'warn', queue, text: words.alerts.never_asked(ready), to };
  if (condition === 'inactive' && ready > 0) return { key: `off ${queue}`, tone: 'warn', queue, text: words.alerts.inactive(ready), to };
  if (condition === 'paused' && ready > 0) return { key: `paused ${queue}`, tone: 'info', queue, text: words.alerts.paused(ready), to };
  return null;
}

// Of those that ended in the last minute; a few say nothing.
function of_failures({ queue, rates }: Stats): Item | null {
  const least = 5 / 60;
  if (rates.finish >= least && rates.fail / rates.finish >= 0.2) {
    const tone = rates.fail / rates.finish >= 0.5 ? 'bad' : 'warn';
    return { key: `failing ${queue}`, tone, queue, text: words.alerts.failing(percent(rates.fail / rates.finish)), to: dead(queue) };
  }
  const runs = rates.finish + rates.retry;
  if (rates.retry < least || rates.retry / runs < 0.5) return null;
  const text = words.alerts.retrying(percent(rates.retry / runs));
  return { key: `retrying ${queue}`, tone: 'warn', queue, text, to: path_of.tasks({ queue, state: 'retrying' }) };
}

export function attention(stats: readonly Stats[], alerts: readonly Alert[], now: number): Item[] {
  const items = alerts.map(of_alert);
  const untaken = new Set(alerts.filter(({ kind }) => kind === 'no_take').map(({ queue }) => queue));
  for (const one of stats) {
    const stopped = untaken.has(one.queue) ? null : of_condition(one, now);
    if (stopped) items.push(stopped);
    const failing = of_failures(one);
    if (failing) items.push(failing);
  }
  return items.sort((a, b) => order[a.tone] - order[b.tone] || a.queue.localeCompare(b.queue));
}
