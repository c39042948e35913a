// Why a cron expression cannot be read, in the words of the server (src/core/cron_parse.cc) and in Russian.
import { visible } from '../format/visible';
import { dictionary } from '../words/dictionary';
import type { FieldName, Refusal } from './parse';

const allowed: Record<FieldName, string> = {
  second: '0-59, *',
  minute: '0-59, *',
  hour: '0-23, *',
  day: '1-31, *, L, L-3, LW, 15W',
  month: '1-12, JAN-DEC, *',
  weekday: '0-7, SUN-SAT, *, FRI#2, FRIL',
};

const words = dictionary({
  en: {
    field: { second: 'second', minute: 'minute', hour: 'hour', day: 'day', month: 'month', weekday: 'weekday' },
    wanted: '5 fields (minute hour day month weekday), or 6 with the second first',
    empty: (wanted: string) => `The rule is empty; write ${wanted}.`,
    fields: (found: number, wanted: string) => `Fields found: ${found}; write ${wanted}.`,
    every: '@every is not a cron rule; choose an interval.',
    nickname: (word: string) => `Unknown name “${word}”; there are @yearly, @annually, @monthly, @weekly, @daily, @midnight and @hourly.`,
    follows: (word: string) => `Nothing may follow ${word}.`,
    needs: (field: string, may: string, found: string) => `The ${field} field needs ${may}; found “${found}”.`,
    needs_some: (field: string, may: string) => `The ${field} field needs ${may}; found nothing.`,
    range: (field: string, value: string, range: string) => `${field} ${value} is out of range ${range}`,
    backwards: (range: string, instead: string) => `The range ${range} runs backwards; write ${instead}.`,
    step: (field: string, range: string) => `The step of the ${field} field is a number ${range}.`,
    last: 'L-n takes a number 1-30, as in L-3.',
    nth: '# takes a week 1-5 or L, as in FRI#2.',
  },
  ru: {
    field: { second: 'секунда', minute: 'минута', hour: 'час', day: 'день', month: 'месяц', weekday: 'день недели' },
    wanted: '5 полей (минута час день месяц день-недели) или 6, где первое — секунда',
    empty: (wanted) => `Правило пусто; нужно ${wanted}.`,
    fields: (found, wanted) => `Полей: ${found}; нужно ${wanted}.`,
    every: '@every — не правило cron; выберите промежуток.',
    nickname: (word) => `Неизвестное имя «${word}»; есть @yearly, @annually, @monthly, @weekly, @daily, @midnight и @hourly.`,
    follows: (word) => `После ${word} ничего быть не может.`,
    needs: (field, may, found) => `Поле «${field}»: можно ${may}; найдено «${found}».`,
    needs_some: (field, may) => `Поле «${field}»: можно ${may}; здесь пусто.`,
    range: (field, value, range) => `${field} ${value}: допустимо ${range}`,
    backwards: (range, instead) => `Диапазон ${range} идёт назад; напишите ${instead}.`,
    step: (field, range) => `Поле «${field}»: шаг — число ${range}.`,
    last: 'После L- нужно число 1-30, например L-3.',
    nth: 'После # нужна неделя 1-5 или L, например FRI#2.',
  },
});

export function say_refusal(refusal: Refusal): string {
  switch (refusal.why) {
    case 'empty':
      return words.empty(words.wanted);
    case 'fields':
      return words.fields(refusal.found, words.wanted);
    case 'nickname':
    case 'follows':
      return words[refusal.why](visible(refusal.word));
    case 'needs': {
      const { field, found } = refusal;
      return found ? words.needs(words.field[field], allowed[field], visible(found)) : words.needs_some(words.field[field], allowed[field]);
    }
    case 'range': {
      const said = words.range(words.field[refusal.field], refusal.value, `${refusal.least}-${refusal.greatest}`);
      return `${said.charAt(0).toUpperCase()}${said.slice(1)}.`;
    }
    case 'backwards': {
      const { from, to, least, end } = refusal;
      return words.backwards(`${from}-${to}`, `${from}-${end},${least}-${to}`);
    }
    case 'step':
      return words.step(words.field[refusal.field], `1-${refusal.most}`);
    default:
      return words[refusal.why];
  }
}
