// What can be done to a schedule, each with a word about how it went.
import * as api from '../../api/schedules';
import { problem_of } from '../../api/problem';
import { path_of } from '../../router/routes';
import { confirm } from '../../shell/confirm.svelte';
import { act, toasts } from '../../shell/toasts.svelte';
import { words } from './words';

export async function run_now(name: string): Promise<void> {
  try {
    const { id } = await api.run_schedule(name);
    toasts.show('ok', words.ran(name), { to: path_of.task(id), text: words.see_task });
  } catch (error) {
    toasts.show('bad', problem_of(error).detail);
  }
}

export const pause = (name: string) => act(() => api.pause_schedule(name), words.paused_it(name));
export const resume = (name: string) => act(() => api.resume_schedule(name), words.resumed(name));

export async function remove(name: string): Promise<void> {
  const sure = await confirm({ title: words.remove_title(name), text: words.remove_text, action: words.remove, danger: true });
  if (sure) await act(() => api.remove_schedule(name), words.removed(name));
}
