// JSON as text. It is cut into lines and never parsed into values, so that what is shown and copied is
// what was sent: numbers keep all their digits, members their order, and nothing is too deep.

export interface Token {
  kind: 'key' | 'string' | 'number' | 'word' | 'mark';
  text: string;
}

export interface Line {
  depth: number;
  tokens: Token[];
  closes: number; // the line that ends what this one opens; -1: it opens nothing
}

const space = /[ \t\n\r]*/y;
const number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const word = /true|false|null/y;

function after(pattern: RegExp, text: string, from: number): number {
  pattern.lastIndex = from;
  return pattern.test(text) ? pattern.lastIndex : from;
}

// Behind the string that begins at `from`; -1: it does not end.
function end_of_string(text: string, from: number): number {
  for (let i = from + 1; i < text.length; i += 1) {
    if (text[i] === '\\') i += 1;
    else if (text[i] === '"') return i + 1;
  }
  return -1;
}

class Cutter {
  lines: Line[] = [];
  #line: Line = { depth: 0, tokens: [], closes: -1 };
  #open: number[] = [];
  #at = 0;

  constructor(readonly text: string) {}

  // null: this is no JSON.
  cut(): Line[] | null {
    this.#at = after(space, this.text, 0);
    while (this.#at < this.text.length) {
      if (!this.#token()) return null;
      this.#at = after(space, this.text, this.#at);
    }
    if (this.#open.length > 0) return null;
    this.#end_line(0);
    return this.lines;
  }

  #push(kind: Token['kind'], to: number): boolean {
    if (to <= this.#at) return false;
    this.#line.tokens.push({ kind, text: this.text.slice(this.#at, to) });
    this.#at = to;
    return true;
  }

  #end_line(depth: number): void {
    if (this.#line.tokens.length > 0) this.lines.push(this.#line);
    this.#line = { depth, tokens: [], closes: -1 };
  }

  #mark(text: string): boolean {
    this.#line.tokens.push({ kind: 'mark', text });
    this.#at += 1;
    return true;
  }

  #token(): boolean {
    const c = this.text[this.#at];
    if (c === '{' || c === '[') return this.#opens(c);
    if (c === '}' || c === ']') return this.#ends(c);
    if (c === ':') return this.#mark(': ');
    if (c === ',') {
      this.#mark(',');
      this.#end_line(this.#open.length);
      return true;
    }
    if (c === '"') {
      const end = end_of_string(this.text, this.#at);
      const is_key = end > 0 && this.text[after(space, this.text, end)] === ':';
      return this.#push(is_key ? 'key' : 'string', end);
    }
    return this.#push('number', after(number, this.text, this.#at)) || this.#push('word', after(word, this.text, this.#at));
  }

  #opens(c: string): boolean {
    const next = after(space, this.text, this.#at + 1);
    if (this.text[next] === (c === '{' ? '}' : ']')) {
      this.#mark(c === '{' ? '{}' : '[]');
      this.#at = next + 1;
      return true;
    }
    this.#mark(c);
    this.#open.push(this.lines.length);
    this.#end_line(this.#open.length);
    return true;
  }

  #ends(c: string): boolean {
    const began = this.#open.pop();
    if (began === undefined) return false;
    this.#end_line(this.#open.length);
    const line = this.lines[began];
    if (line) line.closes = this.lines.length;
    return this.#mark(c);
  }
}

export const lines_of = (json: string): Line[] | null => new Cutter(json).cut();

// With line ends and two spaces a level; what is no JSON stays as it is.
export function indented(json: string): string {
  const lines = lines_of(json);
  if (!lines) return json;
  return lines.map((line) => '  '.repeat(line.depth) + line.tokens.map((token) => token.text).join('')).join('\n');
}

function end_of_value(text: string, from: number): number {
  let depth = 0;
  for (let i = from; i < text.length; i += 1) {
    const c = text[i];
    if (c === '"') {
      i = end_of_string(text, i) - 1;
      if (i < 0) return text.length;
    } else if (c === '{' || c === '[') {
      depth += 1;
    } else if (c === '}' || c === ']') {
      if (depth === 0) return i;
      depth -= 1;
    } else if (c === ',' && depth === 0) {
      return i;
    }
  }
  return text.length;
}

// The value of a member of an object, as it stands there; null: there is none. REQUIRES: valid JSON.
export function member_of(object: string, name: string): string | null {
  let i = after(space, object, 0) + 1;
  while (i < object.length) {
    i = after(space, object, i);
    if (object[i] !== '"') return null;
    const key_end = end_of_string(object, i);
    const key = JSON.parse(object.slice(i, key_end)) as string;
    const from = after(space, object, after(space, object, key_end) + 1);
    const to = end_of_value(object, from);
    if (key === name) return object.slice(from, to).trimEnd();
    i = to + 1;
  }
  return null;
}

// An object of members that are JSON already.
export const object_of = (members: Record<string, string>): string =>
  `{${Object.entries(members).map(([name, json]) => `${JSON.stringify(name)}:${json}`).join(',')}}`;

// Why it is no JSON, in the browser's words; empty: it is.
export function json_problem(text: string): string {
  try {
    JSON.parse(text);
    return '';
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
