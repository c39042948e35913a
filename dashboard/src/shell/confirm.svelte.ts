// Asks before something is done that cannot be undone.
//
//   if (await confirm({ title, text, action: words.remove, danger: true })) …

export interface Question {
  title: string;
  text: string;
  action: string; // what the button that does it says
  danger?: boolean;
  type?: string; // must be typed first
}

class Asking {
  question = $state.raw<Question | null>(null);
  #answer: (yes: boolean) => void = () => {};

  ask(question: Question): Promise<boolean> {
    this.#answer(false);
    this.question = question;
    return new Promise((answer) => (this.#answer = answer));
  }

  answer(yes: boolean): void {
    this.question = null;
    this.#answer(yes);
    this.#answer = () => {};
  }
}

export const asking = new Asking();
export const confirm = (question: Question): Promise<boolean> => asking.ask(question);
