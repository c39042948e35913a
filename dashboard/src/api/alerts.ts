import { get } from './client';
import type { Moment } from './types';

export interface Alert {
  kind: 'queue_deep' | 'no_take' | 'dead_growing' | 'leases_lost' | 'disk_low' | 'store_failed' | (string & {});
  level: 'warning' | 'error';
  queue?: string; // none: it is about the server
  since: Moment;
  message: string;
  count: number;
}

// What needs attention, as of some seconds ago.
export const alerts = (signal?: AbortSignal) =>
  get<{ alerts: Alert[]; total: number; looked_at?: Moment }>('v1/alerts', {}, signal);
