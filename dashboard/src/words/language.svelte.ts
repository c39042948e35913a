// Which language the page speaks: what was chosen, or what the browser asks for.
import { keep, kept } from '../shell/kept';

export const languages = ['en', 'ru'] as const;
export type Language = (typeof languages)[number];

function is_language(text: string | null | undefined): text is Language {
  return languages.some((one) => one === text);
}

function first(): Language {
  const said = kept('language');
  if (is_language(said)) return said;
  for (const wanted of navigator.languages) {
    const short = wanted.slice(0, 2).toLowerCase();
    if (is_language(short)) return short;
  }
  return 'en';
}

class Chosen {
  current = $state<Language>(first());

  constructor() {
    document.documentElement.lang = this.current;
  }

  choose(language: Language): void {
    this.current = language;
    keep('language', language);
    document.documentElement.lang = language;
  }
}

export const language = new Chosen();
