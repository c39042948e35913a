// What one group may do differently, as its form shows and changes it.
import type { GroupOverride, GroupRules } from '../../api/types';
import * as form from '../../settings/form';
import { count, type Kind } from '../../settings/read';
import { say, shown } from '../../settings/words';
import { words } from './group_words';

const described = {
  max_concurrent: [{ is: 'count', least: 1, unlimited: true }, ''],
  process_rate: [{ is: 'rate' }, ''],
  max_depth: [count(1), ''],
  weight: [count(1, 1000), '1'],
  until: [{ is: 'moment' }, ''],
} as const satisfies Record<string, readonly [Kind, string]>;

export type Name = keyof typeof described;
export type Setting = form.Setting<Name>;
export type Form = form.Form<Name>;
export const settings: Setting[] = form.settings_of<Name>(described);
export const form_of = (override: GroupOverride | undefined): Form => form.form_of(settings, override ?? {});

// Those that mean something in the order of the queue.
export const meant_in = (typed: Form, rules: GroupRules): Setting[] =>
  settings.filter(({ name }) => {
    if (name === 'max_concurrent') return rules.order !== 'serial' || typed[name] !== '';
    if (name === 'weight') return rules.order === 'fair' || typed[name] !== '';
    return true;
  });

// What its queue says.
export function usual_of(setting: Setting, rules: GroupRules): string {
  if (setting.name === 'until') return '';
  const text = form.form_of<Name>(settings, rules)[setting.name] || setting.usual;
  return words.as_queue(text ? shown(setting.kind, text) : words.no_limit);
}

// `paused`: it is, and what ends ends that, too.
export function problems_in(typed: Form, rules: GroupRules, paused: boolean, now: number): Partial<Record<Name, string>> {
  const found: Partial<Record<Name, string>> = {};
  const meant = meant_in(typed, rules);
  for (const setting of meant) {
    const wrong = form.wrong_in(setting, typed);
    if (wrong) found[setting.name] = say(wrong);
  }
  const rest = settings.some(({ name }) => name !== 'until' && typed[name].trim() !== '');
  if (found.until || typed.until === '') return found;
  if (Date.parse(typed.until) <= now) found.until = words.form.past;
  else if (!rest && !paused) found.until = words.form.nothing_ends;
  return found;
}
