// Asks before something is done that cannot be undone.
//
//   if (await confirm({ title, text, action: words.remove, danger: true })) …
//   const reason = await ask_reason({ …, reason: words.reason }); // null: it is not to be done

export interface Question {
  title: string;
  text: string;
  action: string; // what the button that does it says
  keep?: string; // what the other button says; none: "Cancel"
  danger?: boolean;
  type?: string; // must be typed first
  reason?: string; // the label of a field for a reason, which may stay empty
}

class Asking {
  question = $state.raw<Question | null>(null);
  #answer: (reason: string | null) => void = () => {};

  ask(question: Question): Promise<string | null> {
    this.#answer(null);
    this.question = question;
    return new Promise((answer) => (this.#answer = answer));
  }

  answer(reason: string | null): void {
    this.question = null;
    this.#answer(reason);
    this.#answer = () => {};
  }
}

export const asking = new Asking();
export const ask_reason = (question: Question & { reason: string }): Promise<string | null> => asking.ask(question);
export const confirm = async (question: Question): Promise<boolean> => (await asking.ask(question)) !== null;
