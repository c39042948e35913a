// A payload, a result, a checkpoint or an answer: JSON, a text, or bytes.
import type { Task } from '../../api/types';
import { indented } from '../../format/json';

export type Content =
  | { kind: 'json'; text: string }
  | { kind: 'text'; text: string }
  | { kind: 'bytes'; base64: string; bytes: Uint8Array<ArrayBuffer> }
  | { kind: 'none' };

function bytes_of(base64: string): Uint8Array<ArrayBuffer> {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i += 1) bytes[i] = text.charCodeAt(i);
  return bytes;
}

// `json` is the value as it came.
export function content_of(task: Task, what: 'payload' | 'result' | 'checkpoint' | 'answer', json: string | null): Content {
  if (json !== null) return { kind: 'json', text: json };
  const text = task[`${what}_text`];
  if (text !== undefined) return { kind: 'text', text };
  const base64 = task[`${what}_base64`];
  if (base64 !== undefined) return { kind: 'bytes', base64, bytes: bytes_of(base64) };
  return { kind: 'none' };
}

export const copied = (content: Content): string =>
  content.kind === 'json' ? indented(content.text) : content.kind === 'text' ? content.text : content.kind === 'bytes' ? content.base64 : '';

const hex = (byte: number): string => byte.toString(16).padStart(2, '0');

// As hexdump shows it: the place, sixteen bytes, and what of them is readable.
export function dump(bytes: Uint8Array, most: number): string {
  const rows: string[] = [];
  for (let at = 0; at < Math.min(bytes.length, most); at += 16) {
    const row = [...bytes.slice(at, at + 16)];
    const text = row.map((byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : '.')).join('');
    rows.push(`${at.toString(16).padStart(6, '0')}  ${row.map(hex).join(' ').padEnd(47)}  ${text}`);
  }
  return rows.join('\n');
}

// Whether a text that may be anything is an object or a list of JSON.
export function is_json(text: string): boolean {
  if (!/^\s*[[{]/.test(text)) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
