// Asks for more of what is shown; a failure is told in passing, and nothing is lost by it.
import { toasts } from './toasts.svelte';
import { problem_of } from '../api/problem';

export async function quietly<T>(what: () => Promise<T>): Promise<T | undefined> {
  try {
    return await what();
  } catch (error) {
    toasts.show('bad', problem_of(error).detail);
    return undefined;
  }
}
