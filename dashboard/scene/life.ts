// Tasks come, run and end, until it is told to stop.
import type { Server } from '../tests/server.ts';
import { Random } from './random.ts';
import { beat } from './scene.ts';

interface Lease {
  id: string;
  token: string;
  queue: string;
  end: number;
}

const flows = [
  { queue: 'emails', types: ['receipt', 'receipt', 'welcome'], worker: ['mail-1', 'mail-2'], each: 2, run_ms: 450, most: 18 },
  { queue: 'payments', types: ['charge', 'charge', 'refund'], worker: ['pay-1'], each: 1, run_ms: 750, most: 9 },
  { queue: 'images', types: ['resize', 'thumbnail'], worker: ['media-1'], each: 0.4, run_ms: 900, most: 6 },
  { queue: 'analytics', types: ['page_view'], worker: ['mail-1', 'mail-2'], each: 3, run_ms: 150, most: 20 },
];

const pace = 120; // milliseconds

export class Life {
  #server: Server;
  #random = new Random(11);
  #running: Lease[] = [];
  #steps = 0;
  #over = false;
  #ended: Promise<void> = Promise.resolve();

  constructor(server: Server) {
    this.#server = server;
  }

  start(): this {
    this.#ended = this.#live();
    return this;
  }

  async stop(): Promise<void> {
    this.#over = true;
    await this.#ended;
  }

  async #live(): Promise<void> {
    while (!this.#over) {
      const next = Date.now() + pace;
      await this.#step();
      await new Promise((done) => setTimeout(done, Math.max(0, next - Date.now())));
    }
  }

  async #step(): Promise<void> {
    this.#steps += 1;
    const random = this.#random;
    const put = flows.flatMap(({ queue, types, each }) =>
      Array.from({ length: Math.floor(random.next() * each * 2 + 0.5) }, () => ({
        ...{ queue, type: random.of(types), client_id: 'shop', payload: { order: random.whole(40_000, 49_999) } },
      })),
    );
    if (put.length > 0) await this.#server.must('POST', '/v1/tasks', put);
    await this.#settle();
    for (const { queue, worker, run_ms, most } of flows) {
      const room = most - this.#running.filter((lease) => lease.queue === queue).length;
      if (room <= 0) continue;
      const taken = await this.#server.take(queue, Math.min(room, 20), random.of(worker));
      const end = () => Date.now() + run_ms * (0.4 + random.next() * 1.4);
      this.#running.push(...taken.map(({ id, token }) => ({ id, token, queue, end: end() })));
    }
    if (this.#steps % 30 === 0) await beat(this.#server);
  }

  async #settle(): Promise<void> {
    const over = this.#running.filter((lease) => lease.end <= Date.now());
    if (over.length === 0) return;
    this.#running = this.#running.filter((lease) => lease.end > Date.now());
    const settle = over.map(({ id, token, queue }) => {
      const luck = this.#random.next();
      if (queue === 'payments' && luck < 0.06) {
        const message = `gateway pay.example.net answered 504 after ${this.#random.whole(30_000, 31_900)} ms, order ${this.#random.whole(40_000, 49_999)}`;
        return { id, token, outcome: 'failed', retryable: luck < 0.05, error: { code: 'gateway_timeout', message } };
      }
      if (luck < 0.015) return { id, token, outcome: 'failed', error: { code: 'connection_reset', message: 'peer reset the connection' } };
      return { id, token, outcome: 'done', result: { ok: true } };
    });
    await this.#server.must('POST', '/v1/work', { settle });
  }
}
