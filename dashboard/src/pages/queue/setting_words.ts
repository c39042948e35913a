// Settings in words: what they are, what holds where nothing is said, and what is wrong with them.
import { duration_text } from '../../format/duration_text';
import { count } from '../../format/number';
import { visible } from '../../format/visible';
import type { Form, Setting, Wrong } from './settings';
import { words } from './words';

export const choice = (text: string): string => words.settings.choices[text as keyof typeof words.settings.choices];

export function shown({ kind }: Setting, text: string): string {
  if (kind.is === 'flag' || kind.is === 'choice') return choice(text);
  if (text === 'unlimited') return words.settings.unlimited;
  return kind.is === 'count' ? count(Number(text)) : visible(text);
}

// What a queue does without it. `form` has its other settings.
export function usual(setting: Setting, form: Form): string {
  const { name, kind } = setting;
  if (name === 'weight') return String(Number(form.priority) + 1);
  // Who retries for ever is not given up because its worker was lost.
  if (name === 'max_lost' && form['retry.max_retries'] === 'unlimited') return words.settings.unlimited;
  if (setting.usual) return shown(setting, setting.usual);
  return kind.is === 'text' || name === 'ageing_ms' || name === 'timeout_ms' ? words.settings.not_set : words.settings.hints.no_limit;
}

// What a type does without it: what its queue says, or does.
export function inherited(setting: Setting, queue: Form, type: Form): string {
  const text = queue[setting.name];
  if (text) return shown(setting, text);
  return usual(setting, { ...queue, 'retry.max_retries': type['retry.max_retries'] || queue['retry.max_retries'] });
}

export const hint = ({ kind, name }: Setting): string =>
  name === 'weight' ? words.settings.hints.weight : kind.is === 'rate' ? words.settings.hints.rate : kind.is === 'duration' ? words.settings.hints.duration : '';

export function told(wrong: Wrong): string {
  const say = words.settings.wrong;
  switch (wrong.why) {
    case 'count':
    case 'number': {
      const text = say[wrong.why](count(wrong.least), wrong.most === undefined ? '' : count(wrong.most));
      return wrong.unlimited ? say.or_unlimited(text) : text;
    }
    case 'duration':
      return say.duration(duration_text(wrong.least), duration_text(wrong.most));
    case 'rate':
      return say.rate;
    case 'text':
      return say.text(count(wrong.most));
  }
}
