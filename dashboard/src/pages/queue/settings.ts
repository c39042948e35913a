// The settings of a queue, as its page shows and changes them.
import { settings_of } from '../../settings/form';
import type * as form from '../../settings/form';
import { count, duration, type Kind, many } from '../../settings/read';

const described = {
  general: {
    description: [{ is: 'text', most: 1024 }, ''],
    active: [{ is: 'flag' }, 'true'],
    priority: [count(0, 9), '5'],
    weight: [count(1, 1000), ''],
    ageing_ms: [duration(1), ''],
  },
  limits: {
    max_concurrent: [{ is: 'count', least: 1, unlimited: true }, ''],
    max_depth: [count(1), ''],
    max_task_size: [count(1024, 16_777_216), '1048576'],
    put_rate: [{ is: 'rate' }, ''],
    process_rate: [{ is: 'rate' }, ''],
    rate_of: [{ is: 'choice', of: ['tasks', 'cost'] }, 'tasks'],
  },
  groups: {
    'groups.order': [{ is: 'choice', of: ['arrival', 'fair', 'serial'] }, ''],
    'groups.max_concurrent': [{ is: 'count', least: 1, unlimited: true }, ''],
    'groups.process_rate': [{ is: 'rate' }, ''],
    'groups.rate_of': [{ is: 'choice', of: ['tasks', 'cost'] }, 'tasks'],
    'groups.max_depth': [count(1), ''],
    'groups.weight': [count(1, 1000), '1'],
    'groups.retry_holds': [{ is: 'flag', optional: true }, 'true'],
  },
  run: {
    lease_ms: [duration(1000, 43_200_000), '1m'],
    timeout_ms: [duration(1), ''],
    batch_size: [count(1, 1000), '10'],
    max_lost: [many, '3'],
  },
  retry: {
    'retry.max_retries': [many, '3'],
    'retry.backoff': [{ is: 'choice', of: ['exponential', 'fixed'] }, 'exponential'],
    'retry.base_ms': [duration(0), '30s'],
    'retry.factor': [{ is: 'number', least: 1 }, '2'],
    'retry.cap_ms': [duration(0), '1h'],
    'retry.jitter': [{ is: 'choice', of: ['symmetric', 'additive', 'none'] }, 'symmetric'],
    'retry.jitter_share': [{ is: 'number', least: 0, most: 1 }, '0.2'],
    'retry.cap_after_jitter': [{ is: 'flag', optional: true }, 'false'],
    'retry.retryable': [{ is: 'choice', of: ['all', 'listed'] }, 'all'],
    dead_letters: [{ is: 'flag' }, 'true'],
    dead_letter_queue: [{ is: 'name' }, ''],
  },
  keep: {
    'keep_completed.for_ms': [duration(0), ''],
    'keep_completed.last': [many, ''],
    'keep_dead.for_ms': [duration(0), ''],
    'keep_dead.last': [many, ''],
  },
} as const satisfies Record<string, Record<string, readonly [Kind, string]>>;

type Described = typeof described;
export type Group = keyof Described;
export type Name = { [G in Group]: keyof Described[G] & string }[Group];
export type Setting = form.Setting<Name>;
export type Form = form.Form<Name>;

export const groups = Object.entries(described).map(([group, members]) => ({
  group: group as Group,
  settings: settings_of(members as Record<Name, readonly [Kind, string]>),
}));
export const settings: Setting[] = groups.flatMap((one) => one.settings);

// Those that mean something beside the others: without an order groups have no rules at all.
export function means({ name }: Setting, form: Form): boolean {
  const order = form['groups.order'];
  const told = form[name].trim() !== '';
  if (name === 'rate_of') return told || form.process_rate.trim() !== '';
  if (!name.startsWith('groups.') || name === 'groups.order') return true;
  if (name === 'groups.rate_of') return order !== '' && (told || form['groups.process_rate'].trim() !== '');
  if (name === 'groups.weight') return order === 'fair' || (order !== '' && told);
  if (name === 'groups.retry_holds') return order === 'serial' || (order !== '' && told);
  return order !== '';
}

// The server refuses a limit beside the order in which one task of a group runs at a time.
export function is_more_than_serial({ name }: Setting, form: Form): boolean {
  const most = form[name].trim();
  return name === 'groups.max_concurrent' && form['groups.order'] === 'serial' && most !== '' && most !== '1';
}

// Those that a type may have for itself.
const of_types = (name: Name): boolean => name === 'timeout_ms' || name === 'max_lost' || name.startsWith('retry.') || name.endsWith('.for_ms');
export const type_groups = groups
  .map(({ group, settings }) => ({ group, settings: settings.filter(({ name }) => of_types(name)) }))
  .filter((one) => one.settings.length > 0);
