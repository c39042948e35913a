// Cron expressions as the server reads them (docs/schedules.md): five fields, or six with the second
// first. Only what a description needs, and why it cannot be read: whether it fires at all is for the server to say.

export interface Field {
  all: boolean; // `*`, `?`, `*/1`
  values: number[]; // in order, each once
  step: number; // of `*/15` and `8-18/2`, where that is all there is; 0: a list
}

export interface Cron {
  second: Field;
  minute: Field;
  hour: Field;
  day: Field;
  month: Field;
  weekday: Field; // 0 is Sunday
  from_last: number[]; // L, L-3
  nearest: number[]; // 15W
  nearest_from_last: number[]; // LW, L-3W
  nth: { weekday: number; week: number }[]; // FRI#2; week 0: the last one
}

const nicknames: Record<string, string> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
};
const months = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC'];
const weekdays = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'];

export type FieldName = 'second' | 'minute' | 'hour' | 'day' | 'month' | 'weekday';

// Why an expression cannot be read; refusal.ts says it.
export type Refusal =
  | { why: 'empty' | 'every' | 'last' | 'nth' }
  | { why: 'fields'; found: number }
  | { why: 'nickname' | 'follows'; word: string }
  | { why: 'needs'; field: FieldName; found: string }
  | { why: 'range'; field: FieldName; value: string; least: number; greatest: number }
  | { why: 'backwards'; from: number; to: number; least: number; end: number }
  | { why: 'step'; field: FieldName; most: number };

interface Shape {
  field: FieldName;
  least: number;
  greatest: number;
  end: number; // of `*` and of `5/15`
  names: string[]; // the first one stands for `least`
}
const shape = (field: FieldName, least: number, greatest: number, names: string[] = [], end = greatest): Shape => ({
  ...{ field, least, greatest, end, names },
});
const shapes: Record<FieldName, Shape> = {
  second: shape('second', 0, 59),
  minute: shape('minute', 0, 59),
  hour: shape('hour', 0, 23),
  day: shape('day', 1, 31),
  month: shape('month', 1, 12, months),
  weekday: shape('weekday', 0, 7, weekdays, 6),
};

class Unreadable extends Error {
  constructor(readonly refusal: Refusal) {
    super(refusal.why);
  }
}

function number_of(text: string, { field, least, greatest, names }: Shape): { value: number; named: boolean } {
  const named = names.indexOf(text);
  if (named >= 0) return { value: least + named, named: true };
  if (!/^\d+$/.test(text)) throw new Unreadable({ why: 'needs', field, found: text });
  const value = Number(text);
  if (value < least || value > greatest) throw new Unreadable({ why: 'range', field, value: text, least, greatest });
  return { value, named: false };
}

function step_of(text: string | undefined, { field, least, end }: Shape): number {
  if (text === undefined) return 1;
  const most = end - least + 1;
  const step = /^\d+$/.test(text) ? Number(text) : 0;
  if (step < 1 || step > most) throw new Unreadable({ why: 'step', field, most });
  return step;
}

// One item of a list: a value, a range or a star, each perhaps with a step.
function item(text: string, of: Shape): { values: number[]; step: number; all: boolean } {
  const [range = '', steps, ...rest] = text.split('/');
  if (rest.length > 0) throw new Unreadable({ why: 'needs', field: of.field, found: text });
  const step = step_of(steps, of);
  let from = of.least;
  let to = of.end;
  const star = range === '*' || range === '?';
  if (!star) {
    const [first = '', last, ...more] = range.split('-');
    if (more.length > 0) throw new Unreadable({ why: 'needs', field: of.field, found: text });
    from = number_of(first, of).value;
    to = last === undefined ? (steps === undefined ? from : Math.max(from, of.end)) : upper_end(number_of(last, of), from, of);
    if (from > to) throw new Unreadable({ why: 'backwards', from, to, least: of.least, end: of.end });
  }
  const values: number[] = [];
  for (let value = from; value <= to; value += step) values.push(value);
  return { values, step: steps === undefined && !range.includes('-') && !star ? 0 : step, all: star && step === 1 };
}

// A range that ends in SUN ends the week.
function upper_end({ value, named }: { value: number; named: boolean }, from: number, of: Shape): number {
  return of === shapes.weekday && named && value === 0 && from > 0 ? 7 : value;
}

function field(items: string[], of: Shape): Field {
  const read = items.map((text) => item(text, of));
  const values = read.flatMap((one) => one.values).map((value) => (of === shapes.weekday ? value % 7 : value));
  return {
    all: read.some((one) => one.all),
    values: [...new Set(values)].sort((a, b) => a - b),
    step: read.length === 1 ? (read[0]?.step ?? 0) : 0,
  };
}

function read_days(text: string, into: Cron): void {
  const plain: string[] = [];
  for (const one of text.split(',')) {
    const last = /^L(?:-(\d{1,2}))?(W?)$/.exec(one);
    const near = /^(\d{1,2})W$/.exec(one);
    if (last) {
      const before = last[1] === undefined ? 0 : Number(last[1]);
      if (last[1] !== undefined && (before < 1 || before > 30)) throw new Unreadable({ why: 'last' });
      (last[2] ? into.nearest_from_last : into.from_last).push(before);
    } else if (near) {
      into.nearest.push(number_of(near[1] ?? '', shapes.day).value);
    } else {
      plain.push(one);
    }
  }
  into.day = field(plain, shapes.day);
}

function read_weekdays(text: string, into: Cron): void {
  const plain: string[] = [];
  for (const one of text.split(',')) {
    const nth = /^(\d|[A-Z]{3})(?:#([1-5L])|L)$/.exec(one);
    if (!nth && one.includes('#')) throw new Unreadable({ why: 'nth' });
    if (!nth) {
      plain.push(one);
      continue;
    }
    const weekday = number_of(nth[1] ?? '', shapes.weekday).value % 7;
    into.nth.push({ weekday, week: nth[2] === undefined || nth[2] === 'L' ? 0 : Number(nth[2]) });
  }
  into.weekday = field(plain, shapes.weekday);
}

// The fields of an expression, in their order; the second is 0 where there are only five.
function words_of(text: string): string[] {
  const words = text.toUpperCase().split(/[ \t]+/).filter((word) => word !== '');
  const [first = '', next] = words.map((word) => word.toLowerCase());
  if (first === '') throw new Unreadable({ why: 'empty' });
  if (first.startsWith('@')) {
    const meaning = nicknames[first];
    if (first === '@every') throw new Unreadable({ why: 'every' });
    if (!meaning) throw new Unreadable({ why: 'nickname', word: first });
    if (next !== undefined) throw new Unreadable({ why: 'follows', word: first });
    return words_of(meaning);
  }
  if (words.length !== 5 && words.length !== 6) throw new Unreadable({ why: 'fields', found: words.length });
  return words.length === 5 ? ['0', ...words] : words;
}

function cron_of([second = '', minute = '', hour = '', day = '', month = '', weekday = '']: string[]): Cron {
  const of = (name: FieldName, text: string): Field => field(text.split(','), shapes[name]);
  const none: Field = { all: false, values: [], step: 0 };
  const cron: Cron = {
    ...{ second: of('second', second), minute: of('minute', minute), hour: of('hour', hour) },
    ...{ day: none, month: none, weekday: none, from_last: [], nearest: [], nearest_from_last: [], nth: [] },
  };
  // From the left, so that the first mistake is the one that is told.
  read_days(day, cron);
  cron.month = of('month', month);
  read_weekdays(weekday, cron);
  return cron;
}

export function read_cron(text: string): { cron: Cron } | { wrong: Refusal } {
  try {
    return { cron: cron_of(words_of(text)) };
  } catch (error) {
    if (error instanceof Unreadable) return { wrong: error.refusal };
    throw error;
  }
}

// null: the server would not read it either, or something is in it that is not known here.
export function parse_cron(text: string): Cron | null {
  const read = read_cron(text);
  return 'cron' in read ? read.cron : null;
}
