// Kinds of events, in the order in which they are offered.
import type { TaskState } from '../../api/types';

export const kinds = [
  ...['put', 'taken', 'progress', 'completed', 'retrying', 'failed', 'dead', 'lost', 'snoozed', 'parked', 'given_back'],
  ...['expired', 'cancel_requested', 'cancelled', 'retried', 'released', 'changed', 'moved', 'removed'],
] as const;

export const trouble: readonly string[] = ['retrying', 'failed', 'dead', 'lost', 'expired'];

// The state whose colour an event has. That of completed tasks is pale, and an event should be seen.
export function like_state(what: string): TaskState {
  if (what === 'completed') return 'processing';
  if (what === 'failed' || what === 'dead') return 'failed';
  if (what === 'retrying' || what === 'lost' || what === 'expired') return 'retrying';
  if (what === 'taken' || what === 'progress') return 'queued';
  return 'cancelled';
}
