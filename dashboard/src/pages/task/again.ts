// The request that puts a task like another one.
import type { WholeTask } from '../../api/tasks';
import { request_for, type Draft } from '../../put/request';
import type { Content } from './content';

// What a new task takes over as it is.
const kept = ['content_type', 'timeout_ms', 'max_lost', 'retry', 'callback', 'keep_for_ms', 'keep_completed', 'keep_dead', 'client_id', 'group', 'cost', 'tags', 'parent'];

export function request_of(whole: WholeTask, payload: Content, draft: Draft): string {
  const task = whole.task as unknown as Record<string, unknown>;
  const request = request_for(draft);
  if (payload.kind === 'bytes') request.add('payload_base64', JSON.stringify(payload.base64));
  else if (payload.kind === 'text') request.add('payload_text', JSON.stringify(draft.text));
  else if (draft.text.trim()) request.add('payload', draft.text);
  if (whole.metadata !== null) request.add('metadata', whole.metadata);
  for (const name of kept) {
    if (task[name] !== undefined && !(name === 'content_type' && payload.kind === 'json')) request.add(name, JSON.stringify(task[name]));
  }
  return request.text;
}
