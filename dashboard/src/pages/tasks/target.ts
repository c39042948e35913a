// What is to be said besides the tasks: where to, which priority, why.
import type { BulkTarget } from '../../api/bulk';
import type { Action } from './filter';

export interface Target {
  to: string;
  priority: string;
  reason: string;
}

export const no_target = (): Target => ({ to: '', priority: '5', reason: '' });

export const is_ready = (action: Action, target: Target): boolean => action !== 'move' || target.to.trim() !== '';

export function sent_of(action: Action, target: Target): BulkTarget {
  if (action === 'move') return { to: target.to.trim() };
  if (action === 'priority') return { priority: Number(target.priority) };
  if (action === 'cancel' && target.reason.trim()) return { reason: target.reason.trim() };
  return {};
}
