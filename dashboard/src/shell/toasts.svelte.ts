// Short words about what has just been done, and doing it with them.
import { untrack } from 'svelte';
import { problem_of } from '../api/problem';

export interface Toast {
  id: number;
  tone: 'ok' | 'bad';
  text: string;
  link?: { to: string; text: string };
}

const most = 4;
let last = 0;

class Toasts {
  all = $state.raw<Toast[]>([]);
  dialogs = $state(0); // that are open: what is said then is said in them, since they cover the page

  show(tone: Toast['tone'], text: string, link?: Toast['link']): void {
    const toast: Toast = { id: ++last, tone, text, ...(link && { link }) };
    this.all = [...this.all, toast].slice(-most);
    setTimeout(() => this.drop(toast.id), tone === 'ok' ? 5000 : 12_000);
  }

  // For a dialog, while it is open. Returns what ends it.
  in_dialog(): () => void {
    untrack(() => (this.dialogs += 1));
    return () => untrack(() => (this.dialogs -= 1));
  }

  drop(id: number): void {
    this.all = this.all.filter((toast) => toast.id !== id);
  }
}

export const toasts = new Toasts();

// Does something on the server and tells how it went. undefined: it failed.
export async function act<T>(what: () => Promise<T>, done: string | ((answer: T) => string)): Promise<T | undefined> {
  try {
    const answer = await what();
    toasts.show('ok', typeof done === 'string' ? done : done(answer));
    return answer;
  } catch (error) {
    toasts.show('bad', problem_of(error).detail);
    return undefined;
  }
}
