// Numbers as people of the chosen language write them.
import { language } from '../words/language.svelte';

type Kind = 'count' | 'decimal' | 'compact' | 'small' | 'percent';

const options: Record<Kind, Intl.NumberFormatOptions> = {
  count: { maximumFractionDigits: 0 },
  decimal: { maximumFractionDigits: 6 },
  compact: { notation: 'compact', maximumSignificantDigits: 3 },
  small: { maximumSignificantDigits: 2 },
  percent: { style: 'percent', maximumFractionDigits: 1 },
};
const made = new Map<string, Intl.NumberFormat>();

function format(kind: Kind): Intl.NumberFormat {
  const name = `${language.current} ${kind}`;
  let found = made.get(name);
  if (!found) made.set(name, (found = new Intl.NumberFormat(language.current, options[kind])));
  return found;
}

// 1,234,567
export const count = (n: number): string => format('count').format(n);

// 0.25
export const decimal = (n: number): string => format('decimal').format(n);

// 1.23M; short numbers stay whole.
export const compact = (n: number): string => (Math.abs(n) < 10_000 ? count(n) : format('compact').format(n));

// A second: 0, <0.1, 0.4, 12, 1.2K
export function rate(n: number): string {
  if (n === 0) return '0';
  if (n < 0.1) return `<${format('small').format(0.1)}`;
  return n < 10 ? format('small').format(n) : compact(Math.round(n));
}

// Of one: 0.123 is 12.3 %.
export const percent = (share: number): string => format('percent').format(share);
