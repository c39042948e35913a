// To the millisecond, in the reader's zone: 14:05:06.789
import { language } from '../../words/language.svelte';

const made = new Map<string, Intl.DateTimeFormat>();

export function time_of_day(at: number): string {
  const name = language.current;
  let format = made.get(name);
  if (!format) {
    format = new Intl.DateTimeFormat(name, {
      ...{ hour: '2-digit', minute: '2-digit', second: '2-digit', fractionalSecondDigits: 3, hour12: false },
    });
    made.set(name, format);
  }
  return format.format(at);
}
