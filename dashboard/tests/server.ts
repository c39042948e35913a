// A real `millrace serve` on the journal store, in a folder of its own, on a free port.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as rest } from 'node:timers/promises';

export const program = process.env.MILLRACE_PROGRAM ?? '../build/release/millrace';

export interface Answer {
  status: number;
  body: any; // eslint-disable-line @typescript-eslint/no-explicit-any
}

export class Server {
  readonly folder = mkdtempSync(join(tmpdir(), 'millrace-dashboard-'));
  #process: ChildProcess | null = null;
  #port = 0;
  #said = '';
  key = ''; // sent with ask(), where there is one

  constructor(readonly flags: string[] = []) {}

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  // What it wrote to its log.
  get said(): string {
    return this.#said;
  }

  async start(): Promise<this> {
    const file = join(this.folder, 'address');
    rmSync(file, { force: true });
    // Again on the same port, so that an open page finds it.
    const args = ['serve', '--listen', `127.0.0.1:${this.#port}`, '--address-file', file];
    args.push('--store', `journal:${join(this.folder, 'data')}`, ...this.flags);
    const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'pipe'] });
    this.#process = child;
    child.stderr?.on('data', (text: Buffer) => (this.#said = (this.#said + text.toString()).slice(-100_000)));
    for (let tries = 0; tries < 600; ++tries) {
      if (child.exitCode !== null) throw new Error(`millrace ended:\n${this.#said}`);
      if (existsSync(file)) {
        this.#port = Number(readFileSync(file, 'utf8').trim().split(':').pop());
        if (this.#port > 0 && (await this.#ready())) return this;
      }
      await rest(50);
    }
    throw new Error(`millrace did not become ready:\n${this.#said}`);
  }

  async #ready(): Promise<boolean> {
    try {
      return (await fetch(`${this.url}/ready`)).ok;
    } catch {
      return false;
    }
  }

  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    const child = this.#process;
    if (!child || child.exitCode !== null) return;
    const ended = new Promise((done) => child.once('exit', done));
    child.kill(signal);
    await ended;
    this.#process = null;
  }

  async remove(): Promise<void> {
    await this.stop('SIGKILL');
    rmSync(this.folder, { recursive: true, force: true });
  }

  // ---- The API ----

  async ask(method: string, path: string, body?: unknown): Promise<Answer> {
    const headers: Record<string, string> = { 'Content-Type': 'application/json' };
    if (this.key) headers.Authorization = `Bearer ${this.key}`;
    const response = await fetch(this.url + path, { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) });
    const text = await response.text();
    return { status: response.status, body: text ? JSON.parse(text) : undefined };
  }

  async must(method: string, path: string, body?: unknown): Promise<any> {
    const answer = await this.ask(method, path, body);
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  }

  // The id of a new task.
  async put(queue: string, more: Record<string, unknown> = {}): Promise<string> {
    return (await this.must('POST', '/v1/tasks', { queue, ...more })).id;
  }

  async put_many(queue: string, count: number, more: Record<string, unknown> = {}): Promise<void> {
    const one = { queue, ...more };
    for (let left = count; left > 0; left -= 1000) {
      await this.must('POST', '/v1/tasks', Array.from({ length: Math.min(left, 1000) }, () => one));
    }
  }

  // Adds what another server had, all of it in one request.
  async import(has: { queues?: object[]; schedules?: object[]; memos?: object[]; tasks?: object[] }): Promise<void> {
    const { queues = [], schedules = [], memos = [], tasks = [] } = has;
    const lines = [
      { millrace_export: { format: 1, minor: 0, store: 'journal', exported_at: new Date().toISOString() } },
      ...queues.map((queue) => ({ queue })),
      ...schedules.map((schedule) => ({ schedule })),
      ...memos.map((memo) => ({ memo })),
      ...tasks.map((task) => ({ task })),
      { end: { queues: queues.length, schedules: schedules.length, memos: memos.length, tasks: tasks.length } },
    ];
    const headers: Record<string, string> = { 'Content-Type': 'application/x-ndjson' };
    if (this.key) headers.Authorization = `Bearer ${this.key}`;
    const body = lines.map((line) => `${JSON.stringify(line)}\n`).join('');
    const answer = await fetch(`${this.url}/v1/import`, { method: 'POST', headers, body });
    const said = await answer.text();
    if (!answer.ok || !said.startsWith('{"imported"')) throw new Error(`import: ${answer.status} ${said}`);
  }

  // Takes tasks: their ids and tokens.
  async take(queue: string, most = 1, worker = 'tester'): Promise<{ id: string; token: string }[]> {
    return (await this.must('POST', '/v1/take', { worker, queue, most })).tasks;
  }

  async settle(task: { id: string; token: string }, outcome: Record<string, unknown>): Promise<void> {
    await this.must('POST', `/v1/tasks/${task.id}/settle`, { token: task.token, ...outcome });
  }

  // Puts a task and ends it as a dead letter.
  async fail(queue: string, error: Record<string, unknown>, more: Record<string, unknown> = {}): Promise<string> {
    await this.put(queue, more);
    const [task] = await this.take(queue);
    if (!task) throw new Error(`nothing to take from ${queue}`);
    await this.settle(task, { outcome: 'failed', retryable: false, error });
    return task.id;
  }

  // Makes a key; the first one must be for an admin, and every request needs one from then on.
  async make_key(name: string, scopes: string[], queues: string[] = []): Promise<{ id: string; secret: string }> {
    return this.must('POST', '/v1/keys', { name, scopes, ...(queues.length > 0 && { queues }) });
  }

  // What the command line says.
  run(...args: string[]): string {
    const env = { ...process.env, MILLRACE_URL: this.url, MILLRACE_KEY: this.key };
    return spawnSync(program, args, { encoding: 'utf8', env }).stdout;
  }
}
