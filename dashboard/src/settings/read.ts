// Kinds of settings: each is a line of text, read and checked here as the server does, so that a mistake is told
// while it is typed. The server has the last word.
import { duration_text, parse_duration } from '../format/duration_text';
import { from_input, to_input } from '../format/local_input';

const ten_years = 3653 * 86_400_000;

export type Kind =
  | { is: 'count'; least: number; most?: number; unlimited?: boolean }
  | { is: 'number'; least: number; most?: number }
  | { is: 'duration'; least: number; most: number }
  | { is: 'rate' }
  | { is: 'text'; most: number }
  | { is: 'name' } // of a queue, a schedule or a type
  | { is: 'url' }
  | { is: 'lines'; most: number; each: number; patterns?: boolean } // texts, one per line; patterns: of names, with `*`
  | { is: 'ids'; most: number } // of tasks, with line breaks, spaces or commas between
  | { is: 'moment' }
  | { is: 'flag'; optional?: boolean } // optional: it may be unsaid, and is chosen from a list
  | { is: 'choice'; of: readonly string[]; always?: boolean }; // always: one of them, never none

export const count = (least: number, most?: number): Kind => ({ is: 'count', least, ...(most !== undefined && { most }) });
export const many: Kind = { is: 'count', least: 0, unlimited: true };
export const duration = (least: number, most = ten_years): Kind => ({ is: 'duration', least, most });

// What is chosen from a list.
export const choices_of = (kind: Kind): readonly string[] =>
  kind.is === 'choice' ? kind.of : kind.is === 'flag' && kind.optional ? ['true', 'false'] : [];

export type Wrong =
  | { why: 'count' | 'number'; least: number; most: number | undefined; unlimited: boolean }
  | { why: 'duration'; least: number; most: number }
  | { why: 'text' | 'many'; most: number }
  | { why: 'long'; which: string; most: number }
  | { why: 'name' | 'pattern'; bad: string } // the first character that is not allowed
  | { why: 'id' | 'twice'; which: string }
  | { why: 'rate' | 'url' | 'moment' };
export type Reading = { value: unknown } | { wrong: Wrong };

export function text_of(value: unknown, kind: Kind): string {
  if (value === undefined || value === null) return '';
  if (kind.is === 'duration') return duration_text(value as number);
  if (kind.is === 'lines' || kind.is === 'ids') return (value as string[]).join('\n');
  if (kind.is === 'moment') return to_input(value as string);
  if (kind.is === 'rate') {
    const { max, per_ms } = value as { max: number; per_ms: number };
    return `${max}/${duration_text(per_ms)}`;
  }
  return String(value);
}

const bytes = (text: string): number => new TextEncoder().encode(text).length;

function read_number(text: string, kind: Extract<Kind, { is: 'count' | 'number' }>): Reading {
  const unlimited = kind.is === 'count' && kind.unlimited === true;
  if (unlimited && text === 'unlimited') return { value: text };
  // Some languages write 0,2. In a count a comma would be between thousands.
  const written = kind.is === 'number' ? text.replace(',', '.') : text;
  const value = /^\d+([.]\d+)?$/.test(written) ? Number(written) : NaN;
  const whole = kind.is === 'number' || Number.isSafeInteger(value);
  // The greatest number that the server takes for a count.
  const most = kind.most ?? (unlimited ? 4_294_967_294 : undefined);
  if (whole && value >= kind.least && value <= (most ?? Number.MAX_SAFE_INTEGER)) return { value };
  return { wrong: { why: kind.is, least: kind.least, most: kind.most, unlimited } };
}

function read_rate(text: string): Reading {
  const [, max = '', per = ''] = /^(\d{1,9})\s*\/\s*(.+)$/.exec(text) ?? [];
  // 100/s is 100 in one second.
  const length = parse_duration(/^\d/.test(per) ? per : `1${per}`);
  const good = Number(max) >= 1 && length !== null && length >= 1 && length <= 86_400_000;
  return good ? { value: { max: Number(max), per_ms: length } } : { wrong: { why: 'rate' } };
}

const longest_name = 100;

function read_name(text: string): Reading {
  const bad = /[^A-Za-z0-9._:-]/u.exec(text)?.[0];
  if (bad !== undefined) return { wrong: { why: 'name', bad } };
  return text.length <= longest_name ? { value: text } : { wrong: { why: 'text', most: longest_name } };
}

function read_lines(text: string, kind: Extract<Kind, { is: 'lines' }>): Reading {
  const lines = [...new Set(text.split('\n').map((line) => line.trim()))].filter((line) => line !== '');
  const long = lines.find((line) => bytes(line) > kind.each);
  if (long) return { wrong: { why: 'long', which: long, most: kind.each } };
  const bad = kind.patterns ? /[^A-Za-z0-9._:*-]/u.exec(lines.join(''))?.[0] : undefined;
  if (bad !== undefined) return { wrong: { why: 'pattern', bad } };
  return lines.length <= kind.most ? { value: lines } : { wrong: { why: 'many', most: kind.most } };
}

const an_id = /^(task-)?[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

function read_ids(text: string, most: number): Reading {
  const ids = text.split(/[\s,]+/).filter((id) => id !== '');
  const bad = ids.find((id) => !an_id.test(id));
  if (bad !== undefined) return { wrong: { why: 'id', which: bad } };
  const twice = ids.find((id, at) => ids.indexOf(id) !== at);
  if (twice !== undefined) return { wrong: { why: 'twice', which: twice } };
  return ids.length <= most ? { value: ids } : { wrong: { why: 'many', most } };
}

// Empty is `null`: back to what is usual.
export function read(kind: Kind, given: string): Reading {
  const text = given.trim();
  if (text === '') return { value: null };
  switch (kind.is) {
    case 'count':
    case 'number':
      return read_number(text, kind);
    case 'duration': {
      const ms = parse_duration(text);
      const good = ms !== null && ms >= kind.least && ms <= kind.most;
      return good ? { value: ms } : { wrong: { why: 'duration', least: kind.least, most: kind.most } };
    }
    case 'rate':
      return read_rate(text);
    case 'text':
      return bytes(text) <= kind.most ? { value: text } : { wrong: { why: 'text', most: kind.most } };
    case 'name':
      return read_name(text);
    case 'url':
      return /^https?:\/\/[^\s/?#]+\S*$/.test(text) && bytes(text) <= 2048 ? { value: text } : { wrong: { why: 'url' } };
    case 'lines':
      return read_lines(text, kind);
    case 'ids':
      return read_ids(text, kind.most);
    case 'moment': {
      const at = from_input(text);
      return at ? { value: at } : { wrong: { why: 'moment' } };
    }
    case 'flag':
      return { value: text === 'true' };
    case 'choice':
      return { value: text };
  }
}
