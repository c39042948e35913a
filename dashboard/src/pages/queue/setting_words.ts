// Settings in words: what they are, and what holds where nothing is said.
import { shown as shown_text, words as about_settings } from '../../settings/words';
import { type Form, is_more_than_serial, type Name, type Setting } from './settings';
import { words } from './words';

const choice = (text: string): string => words.settings.choices[text as keyof typeof words.settings.choices];

export function shown({ kind }: Setting, text: string): string {
  if (kind.is === 'flag' || kind.is === 'choice') return choice(text);
  return shown_text(kind, text);
}

// More than a name can say; empty where the name says it all.
export const hint_of = ({ name }: Setting): string => (words.settings.hints as Readonly<Partial<Record<Name, string>>>)[name] ?? '';

// What is said below a field, which may depend on what is chosen in it.
export function explained(setting: Setting, form: Form): string {
  if (setting.name !== 'groups.order') return hint_of(setting);
  const order = form['groups.order'] as keyof typeof words.settings.orders | '';
  return order === '' ? words.settings.no_order : words.settings.orders[order];
}

// What is wrong with it beside the others.
export const clash_in = (setting: Setting, form: Form): string => (is_more_than_serial(setting, form) ? words.settings.only_one : '');

// What a queue does without it. `form` has its other settings.
export function usual(setting: Setting, form: Form): string {
  const { name, kind } = setting;
  if (name === 'groups.order') return words.settings.no_rules;
  if (name === 'groups.max_concurrent' && form['groups.order'] === 'serial') return '1';
  if (name === 'weight') return String(Number(form.priority) + 1);
  // A queue that retries without limit does not give up a task because its worker was lost.
  if (name === 'max_lost' && form['retry.max_retries'] === 'unlimited') return about_settings.unlimited;
  if (setting.usual) return shown(setting, setting.usual);
  return kind.is === 'text' || kind.is === 'name' || name === 'ageing_ms' || name === 'timeout_ms' ? about_settings.not_set : about_settings.no_limit;
}

// What a type does without it: what its queue says, or does.
export function inherited(setting: Setting, queue: Form, type: Form): string {
  const text = queue[setting.name];
  if (text) return shown(setting, text);
  return usual(setting, { ...queue, 'retry.max_retries': type['retry.max_retries'] || queue['retry.max_retries'] });
}
