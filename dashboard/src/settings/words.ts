import type { Rate } from '../api/types';
import { exact_duration } from '../format/duration';
import { count, decimal } from '../format/number';
import { visible } from '../format/visible';
import { dictionary } from '../words/dictionary';
import { type Kind, read, type Wrong } from './read';

export const words = dictionary({
  en: {
    usual: (value: string) => `default: ${value}`,
    not_set: 'not set',
    no_limit: 'no limit',
    unlimited: 'unlimited',
    rate: (max: string, per: string) => `${max} per ${per}`,
    hints: { name: 'letters A-Z a-z, digits and . _ : -', rate: 'such as 100/1s', duration: 'such as 30s or 1h30m', lines: 'one per line', ids: 'of tasks, one per line', moment: 'your time' },
    wrong: {
      count: (least: string, most: string) => (most ? `A whole number from ${least} to ${most}.` : `A whole number from ${least} on.`),
      number: (least: string, most: string) => (most ? `A number from ${least} to ${most}.` : `A number from ${least} on.`),
      or_unlimited: (text: string) => `${text} Or: unlimited.`,
      duration: (least: string, most: string) => `A duration such as 30s or 1h30m, from ${least} to ${most}.`,
      rate: 'How many per time, such as 100/1s; the time is at most a day.',
      text: (most: string) => `${most} bytes at most.`,
      space: 'A space',
      quoted: (bad: string) => `“${bad}”`,
      name: (bad: string) => `${bad} is not allowed; write letters A-Z a-z, digits and . _ : - only.`,
      pattern: (bad: string) => `${bad} is not allowed; write letters A-Z a-z, digits, . _ : - and *, as in emails or shop.*`,
      url: 'An address that begins with http:// or https://, without spaces, 2,048 bytes at most.',
      moment: 'A day and a time, both complete.',
      many: (most: string) => `${most} at most.`,
      id: (which: string) => `“${which}” is no id of a task; one is such as 01890a5d-ac96-774b-bcce-b302099a8057.`,
      twice: (which: string) => `${which} stands here twice.`,
      long: (which: string, most: string) => `“${which}…” is too long: ${most} bytes at most.`,
    },
  },
  ru: {
    usual: (value) => `обычно: ${value}`,
    not_set: 'не задано',
    no_limit: 'без предела',
    unlimited: 'без предела',
    rate: (max, per) => `${max} за ${per}`,
    hints: { name: 'латинские буквы, цифры и . _ : -', rate: 'например 100/1s или 100/1 с', duration: 'например 1h30m или 1 ч 30 мин', lines: 'по одной в строке', ids: 'id задач, по одному в строке', moment: 'по вашему времени' },
    wrong: {
      count: (least, most) => (most ? `Целое число от ${least} до ${most}.` : `Целое число от ${least}.`),
      number: (least, most) => (most ? `Число от ${least} до ${most}.` : `Число от ${least}.`),
      or_unlimited: (text) => `${text} Или: unlimited.`,
      duration: (least, most) => `Длительность, например 1h30m или 1 ч 30 мин, от ${least} до ${most}.`,
      rate: 'Столько-то за время, например 100/1s; время не больше суток.',
      text: (most) => `Не больше ${most} байт.`,
      space: 'Пробел',
      quoted: (bad) => `«${bad}»`,
      name: (bad) => `${bad} здесь нельзя: только латинские буквы, цифры и . _ : -`,
      pattern: (bad) => `${bad} здесь нельзя: только латинские буквы, цифры, . _ : - и *, например emails или shop.*`,
      url: 'Адрес, который начинается с http:// или https://, без пробелов, не больше 2048 байт.',
      moment: 'День и время полностью.',
      many: (most) => `Не больше ${most}.`,
      id: (which) => `«${which}» — это не id задачи; нужен, например, 01890a5d-ac96-774b-bcce-b302099a8057.`,
      twice: (which) => `${which} здесь дважды.`,
      long: (which, most) => `Слишком длинно: «${which}…»; не больше ${most} байт.`,
    },
  },
});

// What is typed as `90s`, `100/1s` or `0.2` as people read it.
export function shown(kind: Kind, text: string): string {
  const reading = read(kind, text);
  if (text === 'unlimited') return words.unlimited;
  if ('wrong' in reading || reading.value === null) return visible(text);
  switch (kind.is) {
    case 'duration':
      return exact_duration(reading.value as number);
    case 'rate': {
      const { max, per_ms } = reading.value as Rate;
      return words.rate(count(max), exact_duration(per_ms));
    }
    case 'count':
      return count(reading.value as number);
    case 'number':
      return decimal(reading.value as number);
    default:
      return visible(text);
  }
}

export function say(wrong: Wrong): string {
  switch (wrong.why) {
    case 'count':
    case 'number': {
      const text = words.wrong[wrong.why](count(wrong.least), wrong.most === undefined ? '' : count(wrong.most));
      return wrong.unlimited ? words.wrong.or_unlimited(text) : text;
    }
    case 'duration':
      return words.wrong.duration(exact_duration(wrong.least), exact_duration(wrong.most));
    case 'text':
    case 'many':
      return words.wrong[wrong.why](count(wrong.most));
    case 'name':
    case 'pattern':
      return words.wrong[wrong.why](wrong.bad === ' ' ? words.wrong.space : words.wrong.quoted(visible(wrong.bad)));
    case 'id':
    case 'twice':
      return words.wrong[wrong.why](visible(wrong.which.slice(0, 60)));
    case 'long':
      return words.wrong.long(visible(wrong.which.slice(0, 20)), count(wrong.most));
    default:
      return words.wrong[wrong.why];
  }
}
