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
  'task.priority': [count(0, 9), '5'],
  'task.retry.max_retries': [many, ''],
  'task.group': [{ is: 'text', most: 255 }, ''],
  'task.tags': [{ is: 'lines', most: 16, each: 100 }, ''],
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

const of_queue: readonly Name[] = ['task.timeout_ms', 'task.retry.max_retries', 'task.keep_for_ms'];

// What holds where nothing is typed, in words.
export const usual_of = ({ name, usual }: Setting): string => usual || (of_queue.includes(name) ? words.editor.as_queue : words.editor.none);

export const is_usual = ({ name, usual }: Setting, form: Form<Name>): boolean => form[name] === '' || form[name] === usual;

// Those that mean something beside these choices.
export const meant_with = (kind: 'cron' | 'every', missed: Schedule['missed']): Setting[] =>
  settings.filter(
    ({ name }) =>
      !(name === 'rule.dst' && kind === 'every') && !(name === 'rule.anchor' && kind === 'cron') && !(name === 'missed_most' && missed !== 'all'),
  );
