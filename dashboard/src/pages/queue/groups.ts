// What holds for a group, from the rules of its queue and from what it does differently.
import type { Group, GroupOverride, GroupRules } from '../../api/types';

const at = (iso: string): number => Date.parse(iso); // NaN: never

// One that has ended is as good as none.
export function in_force(group: Group, now: number): GroupOverride | undefined {
  const { override } = group;
  return override?.until !== undefined && at(override.until) <= now ? undefined : override;
}

// `never`: until it is resumed.
export function paused_until(group: Group, now: number): string | undefined {
  const until = in_force(group, now)?.paused_until;
  return until === undefined || at(until) <= now ? undefined : until;
}

// How many of its tasks may run at once; undefined: as many as there are.
export function limit_of(group: Group, rules: GroupRules | undefined, now: number): number | undefined {
  if (!rules) return undefined;
  if (rules.order === 'serial') return 1;
  const limit = in_force(group, now)?.max_concurrent ?? rules.max_concurrent;
  return limit === 'unlimited' ? undefined : limit;
}

export type Condition = 'paused' | 'full' | 'rate' | 'turn' | 'room' | 'idle';

// Without rules there is nothing to say of it.
export function condition_of(group: Group, rules: GroupRules | undefined, now: number): Condition {
  if (!rules) return 'idle';
  if (paused_until(group, now)) return 'paused';
  if (group.running >= (limit_of(group, rules, now) ?? Infinity)) return 'full';
  if (group.room_at && at(group.room_at) > now) return 'rate';
  if (group.ready === 0) return 'idle';
  return rules.order === 'fair' ? 'turn' : 'room';
}

// Those of a page, most waiting first; the server has them in no order.
export const in_order = (groups: readonly Group[]): Group[] =>
  [...groups].sort((a, b) => b.waiting - a.waiting || b.running - a.running || (a.group < b.group ? -1 : 1));
