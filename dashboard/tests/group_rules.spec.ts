// What holds for a group, from the rules of its queue and its own: without a page.
import { expect, test } from '@playwright/test';
import type { Group, GroupOverride, GroupRules } from '../src/api/types.ts';
import { condition_of, in_force, in_order, limit_of, paused_until } from '../src/pages/queue/groups.ts';

const now = Date.parse('2026-01-02T03:04:05Z');
const soon = '2026-01-02T03:04:06Z';
const past = '2026-01-02T03:04:05Z'; // what ends now has ended
const rules = (more: Partial<GroupRules> = {}): GroupRules => ({ order: 'arrival', max_concurrent: 2, ...more });
const group = (more: Partial<Group> = {}, override?: GroupOverride): Group => ({
  ...{ queue: 'emails', group: 'acme', waiting: 3, ready: 3, running: 1 },
  ...more,
  ...(override && { override }),
});

test('what has ended is as good as none', () => {
  expect(in_force(group({}, { weight: 3, until: soon }), now)).toEqual({ weight: 3, until: soon });
  expect(in_force(group({}, { weight: 3, until: past }), now)).toBeUndefined();
  expect(in_force(group({}, { weight: 3 }), now)).toEqual({ weight: 3 });
  expect(in_force(group({}, { weight: 3, until: 'never' }), now)).toEqual({ weight: 3, until: 'never' });
});

test('a pause lasts until its moment, or the end of the rest', () => {
  expect(paused_until(group({}, { paused_until: soon }), now)).toBe(soon);
  expect(paused_until(group({}, { paused_until: 'never' }), now)).toBe('never');
  expect(paused_until(group({}, { paused_until: past }), now)).toBeUndefined();
  expect(paused_until(group({}, { paused_until: 'never', until: past }), now)).toBeUndefined();
  expect(paused_until(group(), now)).toBeUndefined();
});

test('the limit is its own, or that of the queue, and one in the serial order', () => {
  expect(limit_of(group(), rules(), now)).toBe(2);
  expect(limit_of(group({}, { max_concurrent: 5 }), rules(), now)).toBe(5);
  expect(limit_of(group({}, { max_concurrent: 'unlimited' }), rules(), now)).toBeUndefined();
  expect(limit_of(group({}, { max_concurrent: 5, until: past }), rules(), now)).toBe(2);
  expect(limit_of(group({}, { max_concurrent: 5 }), { order: 'serial' }, now)).toBe(1);
  expect(limit_of(group(), { order: 'fair' }, now)).toBeUndefined();
  expect(limit_of(group({}, { max_concurrent: 5 }), undefined, now)).toBeUndefined();
});

test('its state is what keeps its tasks waiting', () => {
  const of = (one: Group, by: GroupRules | undefined = rules()) => condition_of(one, by, now);
  expect(of(group({ running: 2 }, { paused_until: soon }))).toBe('paused');
  expect(of(group({ running: 2 }))).toBe('full');
  expect(of(group({ running: 2, room_at: soon }))).toBe('full');
  expect(of(group({ room_at: soon }))).toBe('rate');
  expect(of(group({ room_at: past }))).toBe('room');
  expect(of(group(), rules({ order: 'fair' }))).toBe('turn');
  expect(of(group({ ready: 0 }), rules({ order: 'fair' }))).toBe('idle');
  expect(of(group(), { order: 'serial' })).toBe('full');
  // Without rules nothing keeps it.
  expect(condition_of(group({ running: 9 }, { paused_until: soon }), undefined, now)).toBe('idle');
});

test('those of a page are in the order of what waits', () => {
  const all = [group({ group: 'c' }), group({ group: 'b' }), group({ group: 'a', waiting: 9 }), group({ group: 'd', running: 2 })];
  expect(in_order(all).map((one) => one.group)).toEqual(['a', 'd', 'b', 'c']);
  expect(all[0]?.group).toBe('c');
});
