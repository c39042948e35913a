// What a new task can have beside its queue, type, priority, delay and payload; most tasks have none of it.
import { type Form as Typed, patch_of, type Setting as Named, settings_of, wrong_in } from '../settings/form';
import { count, duration, type Kind, many } from '../settings/read';
import { say } from '../settings/words';
import { words } from './words';

const described = {
  id: [{ is: 'ids', most: 1 }, ''],
  'unique.key': [{ is: 'text', most: 255 }, ''],
  'unique.on_conflict': [{ is: 'choice', of: ['keep', 'replace', 'postpone'], always: true }, 'keep'],
  'unique.max_delay_ms': [duration(1), ''],
  'after.tasks': [{ is: 'ids', most: 1000 }, ''],
  'after.when': [{ is: 'choice', of: ['completed', 'ended'], always: true }, 'completed'],
  'after.otherwise': [{ is: 'choice', of: ['cancel', 'hold', 'run'], always: true }, 'cancel'],
  group: [{ is: 'text', most: 255 }, ''],
  cost: [count(0, 4_294_967_295), '1'],
  timeout_ms: [duration(1), ''],
  max_retries: [many, ''],
  'keep_completed.for_ms': [duration(0), ''],
  'keep_dead.for_ms': [duration(0), ''],
} as const satisfies Record<string, readonly [Kind, string]>;

export type Name = keyof typeof described;
export type Setting = Named<Name>;
export type Form = Typed<Name>;
export const settings: Setting[] = settings_of<Name>(described);

const given = (form: Form, name: Name): boolean => form[name].trim() !== '';

// Those that mean something beside the others.
export const meant_in = (form: Form): Setting[] =>
  settings.filter(({ name }) => {
    if (name === 'unique.on_conflict') return given(form, 'unique.key');
    if (name === 'unique.max_delay_ms') return given(form, 'unique.key') && form['unique.on_conflict'] === 'postpone';
    if (name === 'after.when' || name === 'after.otherwise') return given(form, 'after.tasks');
    return true;
  });

export function problems_in(form: Form, delay: string): Partial<Record<Name, string>> {
  const found: Partial<Record<Name, string>> = {};
  for (const setting of meant_in(form)) {
    const wrong = wrong_in(setting, form);
    if (wrong) found[setting.name] = say(wrong);
  }
  const conflict = given(form, 'unique.key') ? form['unique.on_conflict'] : 'keep';
  if (conflict === 'postpone' && !(Number(delay) > 0)) found['unique.on_conflict'] = words.needs_delay;
  if (conflict !== 'keep' && given(form, 'after.tasks')) found['unique.on_conflict'] = words.not_with_after;
  return found;
}

// The members of a request. What is as usual is left out.
export function members_of(form: Form, blank: Form): Record<string, unknown> {
  const { id, ...rest } = patch_of(meant_in(form), form, blank);
  return { ...(Array.isArray(id) && { id: id[0] }), ...rest };
}
