// Where the subject of an action is shown; null: nowhere.
import type { Action } from '../../api/actions';
import { path_of } from '../../router/routes';

export function path_of_subject(action: Action): string | null {
  const { operation } = action;
  const subject = action.subject || name_in_request(action);
  if (!subject) return null;
  if (/Queue(Tasks)?$/.test(operation)) return operation === 'removeQueue' ? null : path_of.queue(subject);
  if (/Group$/.test(operation)) {
    // A queue has no slash in its name, a group may have some.
    const slash = subject.indexOf('/');
    return `${path_of.queue(subject.slice(0, slash))}?${new URLSearchParams({ group: subject.slice(slash + 1) })}`;
  }
  if (/Schedule$/.test(operation)) return '/schedules';
  if (/Bulk$/.test(operation)) return '/operations';
  if (/(Task|Webhook)$/.test(operation)) return operation === 'removeTask' ? null : path_of.task(subject);
  return null;
}

// What made it, if its request says so: the action of a bulk operation, the name of a queue or of a key.
export function name_in_request({ operation, subject, request }: Action): string {
  if (subject || !request) return '';
  const field = operation === 'startBulk' || operation === 'actOnTasks' ? 'action' : 'name';
  return new RegExp(`"${field}"\\s*:\\s*"([^"\\\\]{1,100})"`).exec(request)?.[1] ?? '';
}
