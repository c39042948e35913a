// A key while it is typed: what is wrong with it, and what to send.
import type { NewKey } from '../../api/keys';
import type { Rate, Scope } from '../../api/types';
import { iso_of } from '../../format/local_input';
import { moment } from '../../format/time';
import type { Setting } from '../../settings/form';
import { type Kind, type Reading, read } from '../../settings/read';
import { say } from '../../settings/words';
import { words } from './words';

export const spans = ['never', '30', '90', '365', 'until'] as const; // days, or until a moment

export interface Draft {
  name: string;
  scopes: Scope[];
  queues: string; // patterns, one per line
  lasts: (typeof spans)[number];
  until: string;
  rate: string;
}
export type Field = keyof Draft;
export type Problems = Partial<Record<Field, string>>;

const kinds = {
  name: { is: 'text', most: 100 },
  queues: { is: 'lines', most: 32, each: 100, patterns: true },
  until: { is: 'moment' },
  rate: { is: 'rate' },
} as const satisfies Partial<Record<Field, Kind>>;
type Typed = keyof typeof kinds;

export const setting_of = (name: Typed): Setting<Typed> => ({ name, kind: kinds[name], usual: '' });

// The first key of a server must be one that can make others.
export const blank = (first: boolean): Draft => ({
  ...{ name: first ? 'admin' : '', scopes: first ? ['admin'] : [], queues: '', lasts: 'never', until: '', rate: '' },
});

// A key that may do everything cannot be confined.
export const may_be_confined = (draft: Draft): boolean => !draft.scopes.includes('admin');

// Fields that mean nothing beside the others are left alone.
const meant = (draft: Draft): Typed[] =>
  (Object.keys(kinds) as Typed[]).filter((name) => (name === 'queues' ? may_be_confined(draft) : name === 'until' ? draft.lasts === 'until' : true));

const reading_of = (draft: Draft, name: Typed): Reading => read(kinds[name], draft[name]);

export function problems_of(draft: Draft, now: number): Problems {
  const found: Problems = {};
  for (const name of meant(draft)) {
    const reading = reading_of(draft, name);
    if ('wrong' in reading) found[name] = say(reading.wrong);
    else if (name === 'until' && reading.value && moment(String(reading.value)) <= now) found.until = words.form.over;
  }
  if (draft.name.trim() === '') found.name = words.form.no_name;
  if (draft.scopes.length === 0) found.scopes = words.form.no_scope;
  if (draft.lasts === 'until' && draft.until === '') found.until = say({ why: 'moment' });
  return found;
}

// Those to show while it is typed; what is empty is told of once the user has tried to create it.
export const begun = (found: Problems, draft: Draft): Problems =>
  Object.fromEntries(Object.entries(found).filter(([name]) => draft[name as Field].length > 0));

export function wanted_of(draft: Draft, now: number): NewKey {
  const value = (name: Typed): unknown => {
    const reading = meant(draft).includes(name) ? reading_of(draft, name) : { value: null };
    return 'wrong' in reading ? null : reading.value;
  };
  const days = Number(draft.lasts);
  const expires = draft.lasts === 'until' ? (value('until') as string) : days > 0 ? iso_of(now + days * 86_400_000) : null;
  const queues = (value('queues') ?? []) as string[];
  const rate = value('rate') as Rate | null;
  return {
    name: draft.name.trim(),
    scopes: draft.scopes,
    ...(queues.length > 0 && { queues }),
    ...(expires && { expires }),
    ...(rate && { rate }),
  };
}

// The field that the server's words are about.
export function field_of(problem: { field: string; detail: string }): Field | null {
  if (problem.detail.includes('is not a pattern of queue names')) return 'queues';
  if (problem.detail.startsWith('the key would have expired')) return 'until';
  const [first = ''] = problem.field.split(/[.[]/);
  return first === 'expires' ? 'until' : (['name', 'scopes', 'queues', 'rate'] as const).find((name) => name === first) ?? null;
}
