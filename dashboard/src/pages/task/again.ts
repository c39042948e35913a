// The request that puts a task like another one. It is text, so that numbers of the payload and of the
// metadata keep all their digits.
import type { WholeTask } from '../../api/tasks';
import type { Content } from './content';

export interface Changes {
  queue: string;
  type: string;
  priority: number;
  delay_ms: number;
  text: string; // of the payload, if it is JSON or a text
}

// What a new task takes over as it is.
const kept = ['content_type', 'timeout_ms', 'max_lost', 'retry', 'callback', 'keep_for_ms', 'client_id', 'group', 'tags', 'parent'];

export function request_of(whole: WholeTask, payload: Content, changes: Changes): string {
  const task = whole.task as unknown as Record<string, unknown>;
  const parts: string[] = [];
  const add = (name: string, json: string) => parts.push(`${JSON.stringify(name)}:${json}`);
  add('queue', JSON.stringify(changes.queue));
  if (changes.type) add('type', JSON.stringify(changes.type));
  add('priority', String(changes.priority));
  if (changes.delay_ms > 0) add('delay_ms', String(changes.delay_ms));
  if (payload.kind === 'bytes') add('payload_base64', JSON.stringify(payload.base64));
  else if (payload.kind === 'text') add('payload_text', JSON.stringify(changes.text));
  else if (changes.text.trim()) add('payload', changes.text);
  if (whole.metadata !== null) add('metadata', whole.metadata);
  for (const name of kept) {
    if (task[name] !== undefined && !(name === 'content_type' && payload.kind === 'json')) add(name, JSON.stringify(task[name]));
  }
  return `{${parts.join(',')}}`;
}
