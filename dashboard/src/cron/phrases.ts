// What a description of a rule is made of, in one language. Pure: no page is needed.

export interface Phrases {
  list: (parts: string[]) => string;
  every: (n: number, unit: Unit) => string; // every 5 minutes
  every_day: string;
  every_year: (dates: string) => string;
  at: (times: string) => string; // at 03:00 and 15:00
  minutes_of_hour: (minutes: string, one: boolean) => string; // at minutes 5 and 20 of every hour
  minutes: (minutes: string, one: boolean) => string; // the same, of hours that are named beside it
  seconds_of_minute: (seconds: string, one: boolean) => string;
  in_minutes: (minutes: string, one: boolean) => string;
  between: (from: string, to: string) => string; // from 09:00 to 17:59
  in_hours: (hours: string, one: boolean) => string;
  to: (from: string, to: string) => string; // 1 to 5
  day: (n: number) => string; // 1st
  days: (days: string, one: boolean, months: boolean) => string; // on the 1st and 15th of every month
  days_range: (from: number, to: number, months: boolean) => string;
  every_nth_day: (n: number, from: number) => string;
  last_day: (before: number) => string;
  nearest: (day: string) => string; // the working day nearest to the 15th
  nearest_last: (before: number) => string;
  weekdays: (all: number[]) => string; // on Mondays and Thursdays
  weekdays_range: (from: number, to: number) => string;
  working_days: string;
  weekend: string;
  nth_weekday: (weekday: number, week: number) => string; // week 0: the last
  date: (day: number, month: number) => string; // 1 January
  dates: (dates: string) => string; // on 1 January and 1 July
  months: (months: string) => string; // in January and July
  month: (month: number) => string;
  months_range: (from: number, to: number) => string;
  either: (a: string, b: string) => string; // both days and weekdays are named
}

export type Unit = 'millisecond' | 'second' | 'minute' | 'hour' | 'day' | 'week';

const listed = (language: string) => {
  const format = new Intl.ListFormat(language, { type: 'conjunction' });
  return (parts: string[]) => format.format(parts);
};

// ---- English -----------------------------------------------------------------------------------

const en_weekdays = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
const en_months = 'January February March April May June July August September October November December'.split(' ');
const en_weeks = ['last', 'first', 'second', 'third', 'fourth', 'fifth'];
const en_list = listed('en-GB');
const s = (one: boolean) => (one ? '' : 's');

function ordinal(n: number): string {
  const teen = n % 100 >= 11 && n % 100 <= 13;
  return `${n}${teen ? 'th' : (['th', 'st', 'nd', 'rd'][n % 10] ?? 'th')}`;
}
const en_last = (before: number) =>
  before === 0 ? 'the last day of the month' : before === 1 ? 'the last day but one of the month' : `the day ${before} days before the last day of the month`;

const en: Phrases = {
  list: en_list,
  every: (n, unit) => (n === 1 ? `every ${unit}` : `every ${n} ${unit}s`),
  every_day: 'every day',
  every_year: (dates) => `every year on ${dates}`,
  at: (times) => `at ${times}`,
  minutes_of_hour: (minutes, one) => `at minute${s(one)} ${minutes} of every hour`,
  minutes: (minutes, one) => `at minute${s(one)} ${minutes}`,
  seconds_of_minute: (seconds, one) => `at second${s(one)} ${seconds} of every minute`,
  in_minutes: (minutes, one) => `in minute${s(one)} ${minutes}`,
  between: (from, to) => `from ${from} to ${to}`,
  in_hours: (hours, one) => `in the hour${s(one)} of ${hours}`,
  to: (from, to) => `${from} to ${to}`,
  day: ordinal,
  days: (days, _, months) => `on the ${days}${months ? '' : ' of every month'}`,
  days_range: (from, to, months) => `from the ${ordinal(from)} to the ${ordinal(to)}${months ? '' : ' of every month'}`,
  every_nth_day: (n, from) => `on every ${n === 2 ? 'second' : ordinal(n)} day of the month${from === 1 ? '' : ` from the ${ordinal(from)}`}`,
  last_day: (before) => (before > 1 ? `${before} days before the last day of the month` : `on ${en_last(before)}`),
  nearest: (day) => `on the working day nearest to the ${day}`,
  nearest_last: (before) => (before === 0 ? 'on the last working day of the month' : `on the working day nearest to ${en_last(before)}`),
  weekdays: (all) => `on ${en_list(all.map((day) => `${en_weekdays[day]}s`))}`,
  weekdays_range: (from, to) => `${en_weekdays[from]} to ${en_weekdays[to]}`,
  working_days: 'Monday to Friday',
  weekend: 'on Saturdays and Sundays',
  nth_weekday: (weekday, week) => `on the ${en_weeks[week]} ${en_weekdays[weekday]} of the month`,
  date: (day, month) => `${day} ${en_months[month - 1]}`,
  dates: (dates) => `on ${dates}`,
  months: (months) => `in ${months}`,
  month: (month) => en_months[month - 1] ?? '',
  months_range: (from, to) => `from ${en_months[from - 1]} to ${en_months[to - 1]}`,
  either: (a, b) => `${a} and ${b}`,
};

// ---- Russian -----------------------------------------------------------------------------------

const ru_list = listed('ru');
const plurals = new Intl.PluralRules('ru');
const form = (n: number, [one, few, many]: [string, string, string]) =>
  ({ one, few, many })[plurals.select(n) as 'one' | 'few' | 'many'] ?? many;

// Accusative for one: «каждую минуту», «раз в 21 минуту».
const ru_units: Record<Unit, [string, string, string]> = {
  millisecond: ['миллисекунду', 'миллисекунды', 'миллисекунд'],
  second: ['секунду', 'секунды', 'секунд'],
  minute: ['минуту', 'минуты', 'минут'],
  hour: ['час', 'часа', 'часов'],
  day: ['день', 'дня', 'дней'],
  week: ['неделю', 'недели', 'недель'],
};
const ru_each: Record<Unit, string> = {
  millisecond: 'каждую миллисекунду',
  second: 'каждую секунду',
  minute: 'каждую минуту',
  hour: 'каждый час',
  day: 'каждый день',
  week: 'каждую неделю',
};
// What the days are called: on each of them, from, until, on that one.
const ru_on = ['воскресеньям', 'понедельникам', 'вторникам', 'средам', 'четвергам', 'пятницам', 'субботам'];
const ru_from = ['воскресенья', 'понедельника', 'вторника', 'среды', 'четверга', 'пятницы', 'субботы'];
const ru_until = ['воскресенье', 'понедельник', 'вторник', 'среду', 'четверг', 'пятницу', 'субботу'];
const ru_gender = [2, 0, 0, 1, 0, 1, 1]; // masculine, feminine, neuter
const ru_weeks = [
  ['в последний', 'в последнюю', 'в последнее'],
  ['в первый', 'в первую', 'в первое'],
  ['во второй', 'во вторую', 'во второе'],
  ['в третий', 'в третью', 'в третье'],
  ['в четвёртый', 'в четвёртую', 'в четвёртое'],
  ['в пятый', 'в пятую', 'в пятое'],
];
const ru_month_of = 'января февраля марта апреля мая июня июля августа сентября октября ноября декабря'.split(' ');
const ru_month_in = 'январе феврале марте апреле мае июне июле августе сентябре октябре ноябре декабре'.split(' ');
const ru_month_until = 'январь февраль март апрель май июнь июль август сентябрь октябрь ноябрь декабрь'.split(' ');
// 5 и 20 are «5-й и 20-й», 0–5 are «0–5-й».
const ru_nth = (numbers: string) => numbers.replace(/\d+(?![\d–])/g, '$&-й');
const ru_last = (before: number) =>
  before === 0 ? 'последний день месяца' : before === 1 ? 'предпоследний день месяца' : `день за ${before} ${form(before, ['день', 'дня', 'дней'])} до конца месяца`;

const ru: Phrases = {
  list: ru_list,
  every: (n, unit) => {
    if (n === 1) return ru_each[unit];
    return `${plurals.select(n) === 'one' ? 'раз в' : 'каждые'} ${n} ${form(n, ru_units[unit])}`;
  },
  every_day: 'каждый день',
  every_year: (dates) => `каждый год ${dates}`,
  at: (times) => `в ${times}`,
  minutes_of_hour: (minutes, one) => `на ${ru_nth(minutes)} ${one ? 'минуте' : 'минутах'} каждого часа`,
  minutes: (minutes, one) => `на ${ru_nth(minutes)} ${one ? 'минуте' : 'минутах'}`,
  seconds_of_minute: (seconds, one) => `на ${ru_nth(seconds)} ${one ? 'секунде' : 'секундах'} каждой минуты`,
  in_minutes: (minutes, one) => `на ${ru_nth(minutes)} ${one ? 'минуте' : 'минутах'}`,
  between: (from, to) => `с ${from} до ${to}`,
  in_hours: (hours, one) => `в ${one ? 'час' : 'часы'} ${hours}`,
  to: (from, to) => `${from}–${to}`,
  day: (n) => `${n}-го`,
  days: (days, _, months) => `${days} числа${months ? '' : ' каждого месяца'}`,
  days_range: (from, to, months) => `с ${from}-го по ${to}-е число${months ? '' : ' каждого месяца'}`,
  every_nth_day: (n, from) => `каждый ${n}-й день месяца${from === 1 ? '' : ` с ${from}-го числа`}`,
  last_day: (before) => (before > 1 ? `за ${before} ${form(before, ['день', 'дня', 'дней'])} до последнего дня месяца` : `в ${ru_last(before)}`),
  nearest: (day) => `в ближайший к ${day.replace('го', 'му')} числу рабочий день`,
  nearest_last: (before) =>
    before === 0
      ? 'в последний рабочий день месяца'
      : `в рабочий день, ближайший к дню за ${before} ${form(before, ['день', 'дня', 'дней'])} до последнего дня месяца`,
  weekdays: (all) => `по ${ru_list(all.map((day) => ru_on[day] ?? ''))}`,
  weekdays_range: (from, to) => `${from === 2 ? 'со' : 'с'} ${ru_from[from]} по ${ru_until[to]}`,
  working_days: 'по будням',
  weekend: 'по выходным',
  nth_weekday: (weekday, week) => `${ru_weeks[week]?.[ru_gender[weekday] ?? 0]} ${ru_until[weekday]} месяца`,
  date: (day, month) => `${day} ${ru_month_of[month - 1]}`,
  dates: (dates) => dates,
  months: (months) => `в ${months}`,
  month: (month) => ru_month_in[month - 1] ?? '',
  months_range: (from, to) => `с ${ru_month_of[from - 1]} по ${ru_month_until[to - 1]}`,
  either: (a, b) => `${a} и ${b}`,
};

export const phrases = { en, ru };
