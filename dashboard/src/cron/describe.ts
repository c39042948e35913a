// Rules of schedules in words: `30 8 * * MON-FRI` is "Monday to Friday at 08:30".
import { type Cron, type Field, parse_cron } from './parse';
import { type Phrases, phrases, type Unit } from './phrases';

const two = (n: number): string => String(n).padStart(2, '0');
const most_times = 6; // that are written out
const most_dates = 4;

const single = (of: Field): boolean => of.values.length === 1;
const only_zero = (of: Field): boolean => single(of) && of.values[0] === 0;

// The distance, if the values are as far from each other: 0: they are not.
function stride(values: number[]): number {
  const step = (values[1] ?? 0) - (values[0] ?? 0);
  return values.length > 1 && values.every((value, i) => i === 0 || value - (values[i - 1] ?? 0) === step) ? step : 0;
}

// Every n-th from the first, so that the distance is the same from one hour (day) to the next.
function regular(of: Field, size: number): number {
  if (of.all) return 1;
  const step = stride(of.values);
  return step > 0 && size % step === 0 && of.values[0] === 0 && of.values.length === size / step ? step : 0;
}

// 1, 2, 3 are "1 to 3".
const run = (values: number[]): boolean => values.length > 2 && stride(values) === 1;

function numbers(values: number[], say: Phrases): string {
  const first = values[0] ?? 0;
  return run(values) ? say.to(String(first), String(values[values.length - 1])) : say.list(values.map(String));
}

// ---- The time of day ---------------------------------------------------------------------------

// The hours, where something happens again and again in them.
function hours_window(hour: Field, say: Phrases): string {
  if (hour.all) return '';
  const { values } = hour;
  const first = values[0] ?? 0;
  if (single(hour) || run(values)) return say.between(`${two(first)}:00`, `${two(values[values.length - 1] ?? 0)}:59`);
  return say.in_hours(say.list(values.map((value) => `${two(value)}:00`)), false);
}

// Every few hours, at one minute: null: it is nothing of the kind.
function by_hours(cron: Cron, say: Phrases): string | null {
  const { minute, hour } = cron;
  if (!single(minute)) return null;
  const at = minute.values[0] ?? 0;
  const past = at === 0 ? '' : ` ${say.minutes(String(at), true)}`;
  const step = regular(hour, 24);
  if (step === 1) return at === 0 ? say.every(1, 'hour') : say.minutes_of_hour(String(at), true);
  if (step > 1 && step < 12) return say.every(step, 'hour') + past;
  const apart = stride(hour.values);
  if (apart === 0 || apart > 6 || hour.values.length <= 3) return null;
  const first = hour.values[0] ?? 0;
  const last = hour.values[hour.values.length - 1] ?? 0;
  return `${say.every(apart, 'hour')} ${say.between(`${two(first)}:${two(at)}`, `${two(last)}:${two(at)}`)}`;
}

function by_minutes(cron: Cron, say: Phrases): string {
  const { minute, hour } = cron;
  const window = hours_window(hour, say);
  const step = regular(minute, 60);
  if (step > 0) return [say.every(step, 'minute'), window].filter(Boolean).join(' ');
  const text = numbers(minute.values, say);
  if (hour.all) return say.minutes_of_hour(text, single(minute));
  return `${say.minutes(text, single(minute))} ${say.in_hours(say.list(hour.values.map((value) => `${two(value)}:00`)), single(hour))}`;
}

function by_seconds(cron: Cron, say: Phrases): string {
  const { second, minute, hour } = cron;
  const step = regular(second, 60);
  const parts = [step > 0 ? say.every(step, 'second') : say.seconds_of_minute(numbers(second.values, say), single(second))];
  if (!minute.all) parts.push(say.in_minutes(numbers(minute.values, say), single(minute)));
  const window = hours_window(hour, say);
  if (window) parts.push(window);
  return parts.join(', ');
}

// Moments that can be written out, at most a few; null: there are too many.
function moments(cron: Cron): string[] | null {
  const { second, minute, hour } = cron;
  if (hour.all || minute.all || second.all) return null;
  if (hour.values.length * minute.values.length * second.values.length > most_times) return null;
  const seconds = only_zero(second);
  return hour.values.flatMap((h) =>
    minute.values.flatMap((m) => second.values.map((s) => `${two(h)}:${two(m)}${seconds ? '' : `:${two(s)}`}`)),
  );
}

// ---- The day -----------------------------------------------------------------------------------

function week_days(cron: Cron, say: Phrases): string[] {
  const parts: string[] = [];
  const { values } = cron.weekday;
  const from_monday = values.map((day) => (day + 6) % 7).sort((a, b) => a - b); // Monday is 0
  const key = from_monday.join('');
  if (key === '01234') parts.push(say.working_days);
  else if (key === '56') parts.push(say.weekend);
  else if (key === '0123456') parts.push(say.every_day);
  else if (run(from_monday)) {
    parts.push(say.weekdays_range(((from_monday[0] ?? 0) + 1) % 7, ((from_monday[from_monday.length - 1] ?? 0) + 1) % 7));
  } else if (values.length > 0) parts.push(say.weekdays(from_monday.map((day) => (day + 1) % 7)));
  for (const { weekday, week } of cron.nth) parts.push(say.nth_weekday(weekday, week));
  return parts;
}

function month_days(cron: Cron, months: boolean, say: Phrases): string[] {
  const parts: string[] = [];
  const { values, step } = cron.day;
  const first = values[0] ?? 0;
  const last = values[values.length - 1] ?? 0;
  if (run(values)) parts.push(say.days_range(first, last, months));
  else if (step > 1 && last + step > 31) parts.push(say.every_nth_day(step, first));
  else if (values.length > 0) parts.push(say.days(say.list(values.map(say.day)), single(cron.day), months));
  for (const before of cron.from_last) parts.push(say.last_day(before));
  for (const day of cron.nearest) parts.push(say.nearest(say.day(day)));
  for (const before of cron.nearest_from_last) parts.push(say.nearest_last(before));
  return parts;
}

const any_weekday = (cron: Cron): boolean => cron.weekday.all;
const any_day = (cron: Cron): boolean => cron.day.all;

// 1 January, where there are few such dates and nothing else.
function dates(cron: Cron, say: Phrases): string | null {
  const { day, month } = cron;
  const special = cron.from_last.length + cron.nearest.length + cron.nearest_from_last.length;
  if (!any_weekday(cron) || any_day(cron) || month.all || special > 0) return null;
  if (day.values.length * month.values.length > most_dates) return null;
  return say.list(month.values.flatMap((m) => day.values.map((d) => say.date(d, m))));
}

// Nothing where every day is meant.
function days(cron: Cron, say: Phrases): string {
  const months = !cron.month.all && cron.month.values.length < 12;
  let text = '';
  if (!any_day(cron) && !any_weekday(cron)) {
    text = say.either(say.list(month_days(cron, months, say)), say.list(week_days(cron, say)));
  } else if (!any_day(cron)) {
    text = say.list(month_days(cron, months, say));
  } else if (!any_weekday(cron)) {
    text = say.list(week_days(cron, say));
  }
  if (!months) return text;
  const { values } = cron.month;
  const when = run(values)
    ? say.months_range(values[0] ?? 1, values[values.length - 1] ?? 1)
    : say.months(say.list(values.map(say.month)));
  return text ? `${text} ${when}` : when;
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

function sentence(cron: Cron, say: Phrases): string {
  const times = moments(cron);
  if (times) {
    const at = say.at(say.list(times));
    const yearly = dates(cron, say);
    if (yearly !== null) return `${say.every_year(yearly)} ${at}`;
    const day = days(cron, say);
    const weekly = day !== '' && !(any_day(cron) && any_weekday(cron));
    return weekly ? `${day} ${at}` : [say.every_day, day, at].filter(Boolean).join(' ');
  }
  const often = only_zero(cron.second) ? (by_hours(cron, say) ?? by_minutes(cron, say)) : by_seconds(cron, say);
  const yearly = dates(cron, say);
  const day = yearly !== null ? say.dates(yearly) : days(cron, say);
  return day ? `${often}, ${day}` : often;
}

export type Speech = keyof typeof phrases;

// null: it cannot be said, and the expression has to do.
export function describe_cron(text: string, language: Speech): string | null {
  const cron = parse_cron(text);
  return cron && capital(sentence(cron, phrases[language]));
}

const units: [Unit, number][] = [
  ['week', 604_800_000],
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1000],
  ['millisecond', 1],
];

// In the greatest unit that it is a whole number of: 90 minutes.
export function describe_interval(ms: number, language: Speech): string {
  const [unit, length] = units.find(([, size]) => ms >= size && ms % size === 0) ?? ['millisecond', 1];
  return capital(phrases[language].every(Math.round(ms / length), unit));
}
