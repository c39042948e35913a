// Shapes of the public API, as /openapi.json describes them. What is empty is left out by the server,
// hence the question marks.

export type Moment = string; // RFC 3339 in UTC, or `never`

export const states = [
  'created',
  'queued',
  'delayed',
  'processing',
  'retrying',
  'completed',
  'failed',
  'dead',
  'cancelled',
] as const;
export type TaskState = (typeof states)[number];

// Nothing happens to a task in that state unless an operator acts.
export const is_final = (state: TaskState): boolean =>
  state === 'completed' || state === 'failed' || state === 'dead' || state === 'cancelled';

export const scopes = ['put', 'work', 'read', 'admin'] as const;
export type Scope = (typeof scopes)[number];

export interface Stats {
  queue: string;
  number?: number;
  active: boolean;
  draining?: boolean;
  paused_until?: Moment;
  running_limit?: number | 'unlimited'; // its max_concurrent
  total: number;
  ready: number;
  taken: number;
  delayed: number;
  completed: number;
  failed: number;
  mean_run_ms: number;
  mean_wait_ms: number;
  states: Record<TaskState, number>;
  priorities: Record<string, number>;
  oldest?: Moment;
  rates: { put: number; take: number; finish: number; fail: number; retry: number }; // per second, over the last minute
  totals: {
    since: Moment;
    put: number;
    taken: number;
    completed: number;
    failed: number;
    retried: number;
    snoozed: number;
    given_back: number;
    lost: number;
    cancelled: number;
  };
  last_asked?: Moment;
}

export interface Rate {
  max: number;
  per_ms: number;
}

export interface RetryRules {
  backoff?: 'fixed' | 'exponential';
  base_ms?: number;
  factor?: number;
  cap_ms?: number;
  jitter?: 'none' | 'symmetric' | 'additive';
  jitter_share?: number;
  cap_after_jitter?: boolean;
  max_retries?: number | 'unlimited';
  retryable?: 'all' | 'listed';
}

// What a process_rate counts.
export type RateOf = 'tasks' | 'cost';

// Limits and order of each group, that is of the tasks with the same `group`.
export interface GroupRules {
  order: 'arrival' | 'fair' | 'serial';
  max_concurrent?: number | 'unlimited';
  process_rate?: Rate;
  rate_of?: RateOf;
  max_depth?: number;
  weight?: number;
  retry_holds?: boolean;
}

// What one type of task does differently from its queue.
export interface TypePolicy {
  type: string;
  retry?: RetryRules;
  timeout_ms?: number;
  max_lost?: number | 'unlimited';
  keep_completed?: { for_ms: number };
  keep_dead?: { for_ms: number };
}

export interface Keep {
  for_ms?: number;
  last?: number | 'unlimited';
}

export interface Queue {
  name: string;
  id: string;
  number?: number;
  description?: string;
  active: boolean;
  draining?: boolean;
  paused_until?: Moment;
  max_concurrent?: number | 'unlimited';
  max_depth?: number;
  max_task_size?: number;
  put_rate?: Rate;
  process_rate?: Rate;
  rate_of?: RateOf;
  groups?: GroupRules;
  priority: number;
  weight?: number;
  ageing_ms?: number;
  lease_ms: number;
  timeout_ms?: number;
  batch_size: number;
  max_lost?: number | 'unlimited';
  retry?: RetryRules;
  types?: TypePolicy[];
  dead_letters: boolean;
  dead_letter_queue?: string;
  keep_completed: Keep;
  keep_dead: Keep;
  created_at: Moment;
  updated_at: Moment;
  removing?: boolean;
  counts: { total: number; ready: number; taken: number; delayed: number; completed: number; failed: number };
}

// What a group does differently from the rules of its queue.
export interface GroupOverride {
  max_concurrent?: number | 'unlimited';
  process_rate?: Rate;
  max_depth?: number;
  weight?: number;
  paused_until?: Moment;
  until?: Moment; // when all of this ends
}

export interface Group {
  queue: string;
  group: string;
  waiting: number;
  ready: number;
  running: number;
  oldest?: Moment;
  room_at?: Moment; // its rate is used up until then
  first?: number; // in the order `serial`: the task that comes before the others
  override?: GroupOverride;
}

export interface GroupPage {
  groups: Group[];
  next?: string;
}

export interface TaskError {
  code?: string;
  message?: string;
  details?: string;
  stack?: string;
  failed_at?: Moment;
}

export interface Attempt {
  started_at: Moment;
  ended_at: Moment;
  event: string;
  worker?: string;
  error_code?: string;
  error_message?: string;
}

export interface LogLine {
  at: Moment;
  text: string;
}

export interface Task {
  id: string;
  number: number;
  version?: number;
  queue: string;
  type?: string;
  state: TaskState;
  priority: number;
  preview?: string; // in lists: the beginning of the payload
  payload?: unknown;
  payload_text?: string;
  payload_base64?: string;
  content_type?: string;
  result?: unknown;
  result_text?: string;
  result_base64?: string;
  // On the page of a task, until it is final: what its runs have written down, and what it was released with.
  checkpoint?: unknown;
  checkpoint_text?: string;
  checkpoint_base64?: string;
  answer?: unknown;
  answer_text?: string;
  answer_base64?: string;
  error?: TaskError;
  progress?: number;
  cancel_requested?: boolean;
  counters?: { deliveries?: number; attempts?: number; retries?: number; lost?: number };
  created_at: Moment;
  updated_at: Moment;
  start: Moment; // while it is parked: when it is released at the latest
  previous_start?: Moment;
  started_at?: Moment;
  finished_at?: Moment;
  lease_until?: Moment;
  start_by?: Moment;
  worker?: string;
  timeout_ms?: number;
  retry?: RetryRules;
  keep_for_ms?: number;
  keep_completed?: { for_ms: number };
  keep_dead?: { for_ms: number };
  unique?: { key: string; scope?: string; window_ms?: number };
  callback?: { url: string; events?: string[]; max_attempts?: number };
  delivery?: { attempts: number; last_status?: string };
  client_id?: string;
  request_id?: string;
  group?: string;
  cost?: number; // none: 1
  metadata?: Record<string, unknown>;
  tags?: string[];
  parent?: string;
  after?: { tasks: string[]; when: string; otherwise: string };
  waits_for?: string[]; // those of `after` that have not ended as they must
  log?: LogLine[];
  history?: Attempt[];
}

// It has run and waits for a release. A held task has not run yet.
export const is_parked = (task: Pick<Task, 'state' | 'counters'>): boolean =>
  task.state === 'created' && (task.counters?.deliveries ?? 0) > 0;

// What a created task waits for: a release, an answer, or the end of others.
export type CreatedAs = 'held' | 'parked' | 'waits';
export function created_as(task: Pick<Task, 'state' | 'counters' | 'after'>): CreatedAs | undefined {
  if (task.state !== 'created') return undefined;
  if (is_parked(task)) return 'parked';
  return task.after ? 'waits' : 'held';
}

// A task of a graph. No state: it was removed, or the key may not see it.
export interface GraphTask {
  id: string;
  queue?: string;
  type?: string;
  state?: TaskState;
  parked?: boolean;
  waits_for?: number;
  more_parents?: number; // that are left out
  more_children?: number; // the same, at least
}

export interface Graph {
  tasks: GraphTask[]; // the one that was asked for, then the nearest
  edges: { from: string; to: string; waits: boolean }[];
}

export interface TaskPage {
  tasks: Task[];
  next?: string;
  looked_at: number;
}

export interface TaskEvent {
  what: string; // the name of the event: put, taken, completed …
  number: string; // its id in the stream
  id: string;
  queue: string;
  type?: string;
  client_id?: string;
  state: TaskState;
  at: Moment;
  worker?: string;
  error_code?: string;
  progress?: number;
}

export interface Spread {
  p50?: number;
  p95?: number;
  p99?: number;
}

export interface HistoryPoint {
  at: Moment;
  put: number;
  taken: number;
  completed: number;
  failed: number;
  retried: number;
  lost: number;
  cancelled: number;
  wait_ms?: Spread;
  run_ms?: Spread;
  waiting?: number;
  running?: number;
}

// Each list has a number for each point.
export interface HistorySeries {
  name: string;
  put?: number[];
  completed?: number[];
  failed?: number[];
  retried?: number[];
  waiting?: number[];
  running?: number[];
}

export interface History {
  step_ms: number;
  points: HistoryPoint[]; // steps in which nothing happened are left out
  total: Omit<HistoryPoint, 'at' | 'waiting' | 'running'>;
  series?: HistorySeries[]; // with `by`
}

export interface Server {
  version: string;
  started_at: Moment;
  now: Moment;
  connections?: number;
  alerts_enabled?: boolean;
  manager?: boolean;
  disk?: { free: number; total: number };
  store: { name: string; durability: 'none' | 'interval' | 'synced'; loss_window_ms?: number };
}

export interface Session {
  needs_key: boolean;
  signed_in: boolean;
  scopes: Scope[];
  queues?: string[]; // patterns; none: every queue
  key?: { id: string; name: string };
  expires?: Moment;
}
