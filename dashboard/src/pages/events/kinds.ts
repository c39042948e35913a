// Kinds of events, in the order in which they are offered.
export const kinds = [
  ...['put', 'taken', 'progress', 'completed', 'retrying', 'failed', 'dead', 'lost', 'snoozed', 'given_back', 'expired'],
  ...['cancel_requested', 'cancelled', 'retried', 'released', 'changed', 'moved', 'removed'],
] as const;

export const trouble: readonly string[] = ['retrying', 'failed', 'dead', 'lost', 'expired'];

export type Tone = 'plain' | 'ok' | 'info' | 'warn' | 'bad';

export function tone_of(what: string): Tone {
  if (what === 'completed') return 'ok';
  if (what === 'failed' || what === 'dead') return 'bad';
  if (what === 'retrying' || what === 'lost' || what === 'expired') return 'warn';
  if (what === 'taken' || what === 'progress') return 'info';
  return 'plain';
}
