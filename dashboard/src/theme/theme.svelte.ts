// Light, dark, or whatever the system says.
import { keep, kept } from '../shell/kept';

export type Choice = 'system' | 'light' | 'dark';

const dark = matchMedia('(prefers-color-scheme: dark)');

function first(): Choice {
  const said = kept('theme');
  return said === 'light' || said === 'dark' ? said : 'system';
}

class Theme {
  choice = $state<Choice>(first());
  #system = $state(dark.matches);
  readonly current = $derived<'light' | 'dark'>(
    this.choice === 'system' ? (this.#system ? 'dark' : 'light') : this.choice,
  );

  constructor() {
    dark.addEventListener('change', () => {
      this.#system = dark.matches;
      this.#show();
    });
    this.#show();
  }

  choose(choice: Choice): void {
    this.choice = choice;
    keep('theme', choice === 'system' ? null : choice);
    this.#show();
  }

  #show(): void {
    document.documentElement.dataset.theme = this.current;
  }
}

export const theme = new Theme();
