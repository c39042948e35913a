// The settings of a queue, and of a type of its tasks, as a form: each is a line of text, read and checked here
// as the server does, so that a mistake is told while it is typed. The server has the last word.
import type { Queue, Rate, TypePolicy } from '../../api/types';
import { duration_text, parse_duration } from '../../format/duration_text';

const ten_years = 3653 * 86_400_000;

type Kind =
  | { is: 'count'; least: number; most?: number; unlimited?: boolean }
  | { is: 'number'; least: number; most?: number }
  | { is: 'duration'; least: number; most: number }
  | { is: 'rate' }
  | { is: 'text'; most: number }
  | { is: 'flag'; optional?: boolean }
  | { is: 'choice'; of: readonly string[] };

export interface Setting {
  name: Name;
  kind: Kind;
  usual: string; // what holds where nothing is said
}

const count = (least: number, most?: number): Kind => ({ is: 'count', least, ...(most !== undefined && { most }) });
const many: Kind = { is: 'count', least: 0, unlimited: true };
const duration = (least: number, most = ten_years): Kind => ({ is: 'duration', least, most });

// Dots lead into objects.
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
    put_rate: [{ is: 'rate' }, ''],
    process_rate: [{ is: 'rate' }, ''],
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

export const groups = Object.entries(described).map(([group, members]) => ({
  group: group as Group,
  settings: Object.entries(members).map(([name, [kind, usual]]): Setting => ({ name: name as Name, kind, usual })),
}));
export const settings: Setting[] = groups.flatMap((one) => one.settings);

// Those that a type may have for itself.
const of_types = (name: Name): boolean => name === 'timeout_ms' || name === 'max_lost' || name.startsWith('retry.');
export const type_groups = groups
  .map(({ group, settings }) => ({ group, settings: settings.filter(({ name }) => of_types(name)) }))
  .filter((one) => one.settings.length > 0);

// What is chosen from a list.
export const choices_of = (kind: Kind): readonly string[] => (kind.is === 'choice' ? kind.of : kind.is === 'flag' && kind.optional ? ['true', 'false'] : []);

// ---- From a queue to text ----------------------------------------------------------------------

export type Form = Record<Name, string>;

function at(of: Queue | TypePolicy, name: Name): unknown {
  let value: unknown = of;
  for (const part of name.split('.')) value = (value as Record<string, unknown> | undefined)?.[part];
  return value;
}

function text_of(value: unknown, kind: Kind): string {
  if (value === undefined || value === null) return '';
  if (kind.is === 'duration') return duration_text(value as number);
  if (kind.is === 'rate') return `${(value as Rate).max}/${duration_text((value as Rate).per_ms)}`;
  return String(value);
}

// Of a type what it cannot have for itself is empty.
export const form_of = (of: Queue | TypePolicy): Form =>
  Object.fromEntries(settings.map(({ name, kind }) => [name, text_of(at(of, name), kind)])) as Form;

// ---- From text to a patch ----------------------------------------------------------------------

export type Wrong =
  | { why: 'count' | 'number'; least: number; most: number | undefined; unlimited: boolean }
  | { why: 'duration'; least: number; most: number }
  | { why: 'rate' }
  | { why: 'text'; most: number };
type Reading = { value: unknown } | { wrong: Wrong };

function read_number(text: string, kind: Extract<Kind, { is: 'count' | 'number' }>): Reading {
  const unlimited = kind.is === 'count' && kind.unlimited === true;
  if (unlimited && text === 'unlimited') return { value: text };
  const value = /^\d+([.]\d+)?$/.test(text) ? Number(text) : NaN;
  const whole = kind.is === 'number' || Number.isSafeInteger(value);
  // The greatest number that the server takes for a count.
  const most = kind.most ?? (unlimited ? 4_294_967_294 : undefined);
  if (whole && value >= kind.least && value <= (most ?? Number.MAX_SAFE_INTEGER)) return { value };
  return { wrong: { why: kind.is, least: kind.least, most: kind.most, unlimited } };
}

function read_rate(text: string): Reading {
  const [, max = '', per = ''] = /^(\d{1,9})\s*\/\s*(.+)$/.exec(text) ?? [];
  // 100/s is 100 in one second.
  const length = parse_duration(/^\d/.test(per) ? per : `1${per}`);
  const good = Number(max) >= 1 && length !== null && length >= 1 && length <= 86_400_000;
  return good ? { value: { max: Number(max), per_ms: length } } : { wrong: { why: 'rate' } };
}

// Empty is `null`: back to what is usual.
export function read({ kind }: Setting, given: string): Reading {
  const text = given.trim();
  if (text === '') return { value: null };
  switch (kind.is) {
    case 'count':
    case 'number':
      return read_number(text, kind);
    case 'duration': {
      const ms = parse_duration(text);
      const good = ms !== null && ms >= kind.least && ms <= kind.most;
      return good ? { value: ms } : { wrong: { why: 'duration', least: kind.least, most: kind.most } };
    }
    case 'rate':
      return read_rate(text);
    case 'text': {
      const fits = new TextEncoder().encode(text).length <= kind.most;
      return fits ? { value: text } : { wrong: { why: 'text', most: kind.most } };
    }
    case 'flag':
      return { value: text === 'true' };
    case 'choice':
      return { value: text };
  }
}

export const changed = (form: Form, before: Form): Setting[] => settings.filter(({ name }) => form[name].trim() !== before[name].trim());

// A merge patch of what is different.
export function patch_of(form: Form, before: Form): Record<string, unknown> {
  const patch: Record<string, unknown> = {};
  for (const setting of changed(form, before)) {
    const reading = read(setting, form[setting.name]);
    if ('wrong' in reading) continue;
    const [outer = '', inner] = setting.name.split('.');
    if (inner === undefined) patch[outer] = reading.value;
    else patch[outer] = { ...(patch[outer] as object | undefined), [inner]: reading.value };
  }
  return patch;
}

// Which setting the server's words about a field are of.
export const named = (field: string): Name | null =>
  settings.find(({ name }) => field === name || field.startsWith(`${name}.`))?.name ?? null;
