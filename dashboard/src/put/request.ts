// The request that puts a task, as text, so that numbers of a payload keep all their digits.

export interface Draft {
  queue: string;
  type: string;
  priority: string;
  delay: string; // seconds
  text: string; // of the payload
}

export class Request {
  #parts: string[] = [];

  // `json` goes into the request as it is.
  add(name: string, json: string): this {
    this.#parts.push(`${JSON.stringify(name)}:${json}`);
    return this;
  }

  get text(): string {
    return `{${this.#parts.join(',')}}`;
  }
}

export const is_delay = (text: string): boolean => text.trim() === '' || Number(text) >= 0;

// Everything but the payload.
export function request_for(draft: Draft): Request {
  const request = new Request().add('queue', JSON.stringify(draft.queue.trim()));
  if (draft.type.trim()) request.add('type', JSON.stringify(draft.type.trim()));
  request.add('priority', String(Number(draft.priority)));
  const delay_ms = Math.round(Number(draft.delay) * 1000);
  if (delay_ms > 0) request.add('delay_ms', String(delay_ms));
  return request;
}
