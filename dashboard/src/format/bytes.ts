import { dictionary } from '../words/dictionary';
import { language } from '../words/language.svelte';

const units = dictionary({
  en: { b: 'B', kib: 'KiB', mib: 'MiB', gib: 'GiB', tib: 'TiB' },
  ru: { b: 'Б', kib: 'КиБ', mib: 'МиБ', gib: 'ГиБ', tib: 'ТиБ' },
});
const order = ['b', 'kib', 'mib', 'gib', 'tib'] as const;

// 1.5 MiB
export function bytes(n: number): string {
  let size = n;
  let unit = 0;
  while (size >= 1024 && unit < order.length - 1) {
    size /= 1024;
    unit += 1;
  }
  const digits = unit === 0 || size >= 100 ? 0 : 1;
  const text = size.toLocaleString(language.current, { maximumFractionDigits: digits });
  return `${text}\u00a0${units[order[unit] ?? 'b']}`;
}
