// What <input type="datetime-local"> shows and gives: the reader's zone, without a zone in the text.

const two = (n: number): string => String(n).padStart(2, '0');

// Seconds, where there are some.
function rest_of(at: Date): string {
  const ms = at.getMilliseconds();
  if (ms > 0) return `:${two(at.getSeconds())}.${String(ms).padStart(3, '0')}`;
  return at.getSeconds() > 0 ? `:${two(at.getSeconds())}` : '';
}

export function to_input(iso: string): string {
  const at = new Date(iso);
  if (Number.isNaN(at.getTime())) return '';
  const date = `${String(at.getFullYear()).padStart(4, '0')}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  return `${date}T${two(at.getHours())}:${two(at.getMinutes())}${rest_of(at)}`;
}

export function from_input(text: string): string {
  const at = new Date(text);
  return text === '' || Number.isNaN(at.getTime()) ? '' : at.toISOString();
}

export const iso_of = (ms: number): string => new Date(ms).toISOString();
