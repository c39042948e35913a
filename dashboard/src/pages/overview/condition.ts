// What can be said of a queue at a glance.
import type { Stats } from '../../api/types';
import { moment } from '../../format/time';

export type Condition = 'active' | 'inactive' | 'draining' | 'paused' | 'no_worker' | 'never_asked';

// A worker that waits for tasks asks every minute at least.
const patience = 75_000;

export function condition_of(stats: Stats, now: number): Condition {
  if (!stats.active) return 'inactive';
  if (stats.paused_until) {
    const until = moment(stats.paused_until);
    if (Number.isNaN(until) || until > now) return 'paused';
  }
  // Running tasks were taken by a worker, perhaps through another server.
  if (stats.ready > 0 && stats.taken === 0 && stats.rates.take === 0) {
    if (!stats.last_asked) return 'never_asked';
    if (now - moment(stats.last_asked) > patience) return 'no_worker';
  }
  return stats.draining ? 'draining' : 'active';
}
