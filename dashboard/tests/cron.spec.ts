// Rules in words. No page is needed.
import { expect, test } from '@playwright/test';
import { describe_cron, describe_interval } from '../src/cron/describe.ts';
import { parse_cron, read_cron } from '../src/cron/parse.ts';

const said: [rule: string, en: string, ru: string][] = [
  ['* * * * *', 'Every minute', 'Каждую минуту'],
  ['*/5 * * * *', 'Every 5 minutes', 'Каждые 5 минут'],
  ['0 * * * *', 'Every hour', 'Каждый час'],
  ['30 * * * *', 'At minute 30 of every hour', 'На 30-й минуте каждого часа'],
  // Steps start over with each hour, so this is not "every 40 minutes".
  ['*/40 * * * *', 'At minutes 0 and 40 of every hour', 'На 0-й и 40-й минутах каждого часа'],
  ['0 */2 * * *', 'Every 2 hours', 'Каждые 2 часа'],
  ['0 */12 * * *', 'Every day at 00:00 and 12:00', 'Каждый день в 00:00 и 12:00'],
  ['15 */2 * * *', 'Every 2 hours at minute 15', 'Каждые 2 часа на 15-й минуте'],
  ['0 9-17 * * 1-5', 'Every hour from 09:00 to 17:00, Monday to Friday', 'Каждый час с 09:00 до 17:00, по будням'],
  ['*/15 9-17 * * MON-FRI', 'Every 15 minutes from 09:00 to 17:59, Monday to Friday', 'Каждые 15 минут с 09:00 до 17:59, по будням'],
  ['0 2 * * *', 'Every day at 02:00', 'Каждый день в 02:00'],
  ['0 9,12,18 * * *', 'Every day at 09:00, 12:00 and 18:00', 'Каждый день в 09:00, 12:00 и 18:00'],
  ['30 8 * * MON-FRI', 'Monday to Friday at 08:30', 'По будням в 08:30'],
  ['0 4 * * sat,sun', 'On Saturdays and Sundays at 04:00', 'По выходным в 04:00'],
  ['0 4 * * 6-7', 'On Saturdays and Sundays at 04:00', 'По выходным в 04:00'],
  ['0 4 * * TUE-THU', 'Tuesday to Thursday at 04:00', 'Со вторника по четверг в 04:00'],
  ['0 4 * * FRI-SUN', 'Friday to Sunday at 04:00', 'С пятницы по воскресенье в 04:00'],
  ['0 5 * * 1,3,5', 'On Mondays, Wednesdays and Fridays at 05:00', 'По понедельникам, средам и пятницам в 05:00'],
  ['0 0 * * 7', 'On Sundays at 00:00', 'По воскресеньям в 00:00'],
  ['0 3 * * 0-6', 'Every day at 03:00', 'Каждый день в 03:00'],
  ['0 12 * * FRI#2', 'On the second Friday of the month at 12:00', 'Во вторую пятницу месяца в 12:00'],
  ['0 18 * * FRIL', 'On the last Friday of the month at 18:00', 'В последнюю пятницу месяца в 18:00'],
  ['0 18 * * 5L', 'On the last Friday of the month at 18:00', 'В последнюю пятницу месяца в 18:00'],
  ['0 0 1,15 * *', 'On the 1st and 15th of every month at 00:00', '1-го и 15-го числа каждого месяца в 00:00'],
  ['0 4 1-7 * *', 'From the 1st to the 7th of every month at 04:00', 'С 1-го по 7-е число каждого месяца в 04:00'],
  ['0 0 */2 * *', 'On every second day of the month at 00:00', 'Каждый 2-й день месяца в 00:00'],
  ['0 0 L * *', 'On the last day of the month at 00:00', 'В последний день месяца в 00:00'],
  ['0 0 L-3 * *', '3 days before the last day of the month at 00:00', 'За 3 дня до последнего дня месяца в 00:00'],
  ['0 0 LW * *', 'On the last working day of the month at 00:00', 'В последний рабочий день месяца в 00:00'],
  ['0 9 15W * *', 'On the working day nearest to the 15th at 09:00', 'В ближайший к 15-му числу рабочий день в 09:00'],
  // A day that is named by either of the two.
  ['0 0 13 * FRI', 'On the 13th of every month and on Fridays at 00:00', '13-го числа каждого месяца и по пятницам в 00:00'],
  ['0 0 29 2 *', 'Every year on 29 February at 00:00', 'Каждый год 29 февраля в 00:00'],
  ['0 6 1 1,7 *', 'Every year on 1 January and 1 July at 06:00', 'Каждый год 1 января и 1 июля в 06:00'],
  ['0 0 * 6-8 *', 'Every day from June to August at 00:00', 'Каждый день с июня по август в 00:00'],
  ['0 6 8 1-5 3,6,9 *', 'From the 1st to the 5th in March, June and September at 08:06', 'С 1-го по 5-е число в марте, июне и сентябре в 08:06'],
  ['*/10 * * * * *', 'Every 10 seconds', 'Каждые 10 секунд'],
  ['30 0 3 * * *', 'Every day at 03:00:30', 'Каждый день в 03:00:30'],
  ['*/10 0-5 9-17 * * *', 'Every 10 seconds, in minutes 0 to 5, from 09:00 to 17:59', 'Каждые 10 секунд, на 0–5-й минутах, с 09:00 до 17:59'],
  ['@daily', 'Every day at 00:00', 'Каждый день в 00:00'],
  ['@Yearly', 'Every year on 1 January at 00:00', 'Каждый год 1 января в 00:00'],
  ['@weekly', 'On Sundays at 00:00', 'По воскресеньям в 00:00'],
  ['0 0 ? * ?', 'Every day at 00:00', 'Каждый день в 00:00'],
];

for (const [rule, en, ru] of said) {
  test(`${rule} is said`, () => {
    expect(describe_cron(rule, 'en')).toBe(en);
    expect(describe_cron(rule, 'ru')).toBe(ru);
  });
}

test('what the server refuses is not said', () => {
  const refused = ['', 'x', '* * * *', '* * * * * * *', '60 * * * *', '0 24 * * *', '0 0 32 * *', '0 0 0 * *', '0 0 * 13 *', '0 0 * * 8'];
  refused.push('0 22-2 * * *', '*/0 * * * *', '*/61 * * * *', '1-2-3 * * * *', '5/5/5 * * * *', '0 0 L-31 * *', '0 0 32W * *', '0 0 * * FRI#6');
  refused.push('@every 5m', '@often', '1,,2 * * * *', '-1 * * * *', '1.5 * * * *', '0 0 * FOO *', '<b> * * * *');
  for (const rule of refused) expect(describe_cron(rule, 'en'), rule).toBeNull();
});

test('the first mistake is the one that is told', () => {
  const refusals: [rule: string, refusal: object][] = [
    ['61 25 * * *', { why: 'range', field: 'minute', value: '61', least: 0, greatest: 59 }],
    ['0 0 32 13 *', { why: 'range', field: 'day', value: '32' }],
    ['0 0 * 13 8', { why: 'range', field: 'month', value: '13' }],
    ['* * * *', { why: 'fields', found: 4 }],
    ['  ', { why: 'empty' }],
    ['0 22-2 * * *', { why: 'backwards', from: 22, to: 2, least: 0, end: 23 }],
    ['*/61 * * * *', { why: 'step', field: 'minute', most: 60 }],
    ['0 noon * * *', { why: 'needs', field: 'hour', found: 'NOON' }],
    ['1,,2 * * * *', { why: 'needs', field: 'minute', found: '' }],
    ['0 0 L-31 * *', { why: 'last' }],
    ['0 0 * * FRI#6', { why: 'nth' }],
    ['@every 5m', { why: 'every' }],
    ['@often', { why: 'nickname', word: '@often' }],
    ['@daily 5', { why: 'follows', word: '@daily' }],
  ];
  for (const [rule, refusal] of refusals) expect(read_cron(rule), rule).toMatchObject({ wrong: refusal });
});

test('values are those that the server fires at', () => {
  expect(parse_cron('5/15 * * * *')?.minute.values).toEqual([5, 20, 35, 50]);
  expect(parse_cron('0 8-18/5 * * *')?.hour.values).toEqual([8, 13, 18]);
  expect(parse_cron('30,10,10 * * * *')?.minute.values).toEqual([10, 30]);
  expect(parse_cron('0 0 * JAN-mar MON-SUN')?.weekday.values).toEqual([0, 1, 2, 3, 4, 5, 6]);
  expect(parse_cron('0 0 * * */1')?.weekday.all).toBe(true);
  expect(parse_cron('0 0 * * */2')?.weekday.all).toBe(false);
});

test('intervals are said in the unit that fits', () => {
  const intervals: [number, string, string][] = [
    [250, 'Every 250 milliseconds', 'Каждые 250 миллисекунд'],
    [1000, 'Every second', 'Каждую секунду'],
    [60_000, 'Every minute', 'Каждую минуту'],
    [21 * 60_000, 'Every 21 minutes', 'Раз в 21 минуту'],
    [5_400_000, 'Every 90 minutes', 'Каждые 90 минут'],
    [7_200_000, 'Every 2 hours', 'Каждые 2 часа'],
    [604_800_000, 'Every week', 'Каждую неделю'],
  ];
  for (const [ms, en, ru] of intervals) {
    expect(describe_interval(ms, 'en')).toBe(en);
    expect(describe_interval(ms, 'ru')).toBe(ru);
  }
});
