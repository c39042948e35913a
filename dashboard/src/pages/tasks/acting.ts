// What is done to selected tasks.
import { problem_of } from '../../api/problem';
import * as api from '../../api/tasks';
import type { Task } from '../../api/types';
import { confirm } from '../../shell/confirm.svelte';
import { toasts } from '../../shell/toasts.svelte';
import { applies, type Action } from './filter';
import { words } from './words';

// False: nothing was done.
export async function act_on(action: Action, tasks: readonly Task[]): Promise<boolean> {
  const fit = tasks.filter((task) => applies(action, task.state));
  const left = tasks.length - fit.length;
  const text = [action === 'cancel' ? words.confirm.cancel_text : action === 'remove' ? words.confirm.remove_text : '', left > 0 ? words.confirm.skipped(left) : ''];
  const yes = await confirm({
    title: words.confirm[action](fit.length),
    text: text.filter(Boolean).join('\n'),
    action: words.actions[action],
    danger: action !== 'retry',
  });
  if (!yes) return false;
  try {
    const answer = await api.act_on_tasks(action, fit.map((task) => task.id));
    if (answer.done > 0) toasts.show('ok', words.done[action](answer.done));
    const refused = answer.results.find((result) => result.error);
    if (refused?.error) toasts.show('bad', words.refused(answer.refused, refused.error.message));
    return true;
  } catch (error) {
    toasts.show('bad', problem_of(error).detail);
    return false;
  }
}
