// The words of a page in all languages. What one language has, all must have, with the same
// parameters; anything else does not compile.
//
//   export const words = dictionary({
//     en: { title: 'Queues', found: (n: number) => plural(n, { one: '# task', other: '# tasks' }) },
//     ru: { title: 'Очереди', found: (n) => plural(n, { one: '# задача', few: '# задачи', many: '# задач', other: '# задачи' }) },
//   });
//   words.title, words.found(5): in the language that is chosen, and anew when another one is.
import { count } from '../format/number';
import { language } from './language.svelte';

export type Same<T> = {
  readonly [K in keyof T]: T[K] extends string
    ? string
    : T[K] extends (...given: infer Given) => string
      ? (...given: Given) => string
      : Same<T[K]>;
};

export function dictionary<T extends object>(all: { en: T; ru: Same<NoInfer<T>> }): Same<T> {
  const chosen = () => (language.current === 'ru' ? all.ru : all.en) as Same<T>;
  return new Proxy({} as Same<T> & object, {
    get: (_, key) => chosen()[key as keyof T],
    has: (_, key) => key in chosen(),
    ownKeys: () => Reflect.ownKeys(chosen()),
    getOwnPropertyDescriptor: (_, key) => ({
      value: chosen()[key as keyof T],
      enumerable: true,
      configurable: true,
    }),
  });
}

type Forms = { one: string; few?: string; many?: string; other: string };

const rules = { en: new Intl.PluralRules('en'), ru: new Intl.PluralRules('ru') };

// `#` stands for the number.
export function plural(n: number, forms: Forms): string {
  const form = rules[language.current].select(n) as keyof Forms;
  return (forms[form] ?? forms.other).replace('#', count(n));
}
