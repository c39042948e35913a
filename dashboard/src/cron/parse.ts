// Cron expressions as the server reads them (docs/schedules.md): five fields, or six with the second
// first. Only what a description needs: whether it fires at all is for the server to say.

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

interface Shape {
  least: number;
  greatest: number;
  end: number; // of `*` and of `5/15`
  names: string[]; // the first one stands for `least`
}
const shape = (least: number, greatest: number, names: string[] = [], end = greatest): Shape => ({ least, greatest, end, names });
const shapes = {
  second: shape(0, 59),
  minute: shape(0, 59),
  hour: shape(0, 23),
  day: shape(1, 31),
  month: shape(1, 12, months),
  weekday: shape(0, 7, weekdays, 6),
};

class Unreadable extends Error {}

function number_of(text: string, { least, greatest, names }: Shape): { value: number; named: boolean } {
  const named = names.indexOf(text);
  if (named >= 0) return { value: least + named, named: true };
  const value = /^\d{1,4}$/.test(text) ? Number(text) : -1;
  if (value < least || value > greatest) throw new Unreadable();
  return { value, named: false };
}

function step_of(text: string | undefined, { least, end }: Shape): number {
  if (text === undefined) return 1;
  const step = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (step < 1 || step > end - least + 1) throw new Unreadable();
  return step;
}

// One item of a list: a value, a range or a star, each perhaps with a step.
function item(text: string, of: Shape): { values: number[]; step: number; all: boolean } {
  const [range = '', steps, ...rest] = text.split('/');
  if (rest.length > 0) throw new Unreadable();
  const step = step_of(steps, of);
  let from = of.least;
  let to = of.end;
  const star = range === '*' || range === '?';
  if (!star) {
    const [first = '', last, ...more] = range.split('-');
    if (more.length > 0) throw new Unreadable();
    from = number_of(first, of).value;
    to = last === undefined ? (steps === undefined ? from : Math.max(from, of.end)) : upper_end(number_of(last, of), from, of);
    if (from > to) throw new Unreadable();
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
      if (last[1] !== undefined && (before < 1 || before > 30)) throw new Unreadable();
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
    if (!nth) {
      plain.push(one);
      continue;
    }
    const weekday = number_of(nth[1] ?? '', shapes.weekday).value % 7;
    into.nth.push({ weekday, week: nth[2] === undefined || nth[2] === 'L' ? 0 : Number(nth[2]) });
  }
  into.weekday = field(plain, shapes.weekday);
}

// null: the server would not read it either, or something is in it that is not known here.
export function parse_cron(text: string): Cron | null {
  let words = text.toUpperCase().split(/[ \t]+/).filter((word) => word !== '');
  const nickname = nicknames[words.join(' ').toLowerCase()];
  if (nickname) words = nickname.split(' ');
  if (words.length === 5) words = ['0', ...words];
  const [second, minute, hour, day, month, weekday] = words;
  if (words.length !== 6 || !second || !minute || !hour || !day || !month || !weekday) return null;
  try {
    const none: Field = { all: false, values: [], step: 0 };
    const cron: Cron = {
      second: field(second.split(','), shapes.second),
      minute: field(minute.split(','), shapes.minute),
      hour: field(hour.split(','), shapes.hour),
      day: none,
      month: field(month.split(','), shapes.month),
      weekday: none,
      from_last: [],
      nearest: [],
      nearest_from_last: [],
      nth: [],
    };
    read_days(day, cron);
    read_weekdays(weekday, cron);
    return cron;
  } catch (error) {
    if (error instanceof Unreadable) return null;
    throw error;
  }
}
