// What a schedule can have beside its rule, its queue and its payload; each is usual in most schedules.
import type { Schedule } from '../../api/schedules';
import { moment } from '../../format/time';
import { form_of, type Form, type Setting as Named, settings_of } from '../../settings/form';
import { count, duration, type Kind, many } from '../../settings/read';
import { words } from './words';

const described = {
  missed_most: [count(1, 1000), '10'],
  'rule.dst': [{ is: 'choice', of: ['once', 'skip', 'both'], always: true }, 'once'],
  'rule.anchor': [{ is: 'moment' }, ''],
  jitter_ms: [duration(0, 86_400_000), ''],
  'task.delay_ms': [duration(0), ''],
  'task.timeout_ms': [duration(1), ''],
  'task.keep_for_ms': [duration(0), ''],
  'task.keep_completed.for_ms': [duration(0), ''],
  'task.keep_dead.for_ms': [duration(0), ''],
  'task.priority': [count(0, 9), '5'],
  'task.retry.max_retries': [many, ''],
  'task.group': [{ is: 'text', most: 255 }, ''],
  'task.cost': [count(0, 4_294_967_295), '1'],
  'task.tags': [{ is: 'lines', most: 16, each: 100 }, ''],
  'task.unique.key': [{ is: 'text', most: 255 }, ''],
  'task.unique.on_conflict': [{ is: 'choice', of: ['keep', 'replace', 'postpone'], always: true }, 'keep'],
  'task.unique.max_delay_ms': [duration(1), ''],
  'task.callback.url': [{ is: 'url' }, ''],
} as const satisfies Record<string, readonly [Kind, string]>;

export type Name = keyof typeof described;
export type Setting = Named<Name>;
export const settings: Setting[] = settings_of<Name>(described);

export function settings_in(schedule: Schedule | undefined): Form<Name> {
  const form = form_of(settings, schedule ?? {});
  const { anchor } = schedule?.rule ?? {};
  return anchor && moment(anchor) === 0 ? { ...form, 'rule.anchor': '' } : form; // the usual one
}

const of_queue: readonly Name[] = [
  'task.timeout_ms',
  'task.retry.max_retries',
  'task.keep_for_ms',
  'task.keep_completed.for_ms',
  'task.keep_dead.for_ms',
];

// What holds where nothing is typed, in words.
export const usual_of = ({ name, usual }: Setting): string => usual || (of_queue.includes(name) ? words.editor.as_queue : words.editor.none);

export const is_usual = ({ name, usual }: Setting, form: Form<Name>): boolean => form[name] === '' || form[name] === usual;

// Those that mean something beside these choices.
export const meant_with = (kind: 'cron' | 'every', missed: Schedule['missed'], form: Form<Name>): Setting[] =>
  settings.filter(({ name }) => {
    if (name === 'rule.dst') return kind === 'cron';
    if (name === 'rule.anchor') return kind === 'every';
    if (name === 'missed_most') return missed === 'all';
    if (name === 'task.unique.on_conflict') return form['task.unique.key'].trim() !== '';
    if (name === 'task.unique.max_delay_ms') return form['task.unique.key'].trim() !== '' && form['task.unique.on_conflict'] === 'postpone';
    return true;
  });
