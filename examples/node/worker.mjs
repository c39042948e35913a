// Works the tasks of a Millrace queue, with nothing but Node 18 or later.
//
// Copy this file and write your own handle(). docs/workers.md describes what the rest does.
import { realpathSync } from 'node:fs';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';

const poll = 5_000; // ms that a take waits for a task; an idle worker may need as long to stop
const patience = 10_000; // ms without an answer until a request counts as lost
const longestPause = 10_000; // ms; a new server waits 30 s before it calls a lease lost
const lastWord = 2_000; // ms that a handler has to end after it was told to stop

// A handler throws it where another try cannot help.
export class CannotSucceed extends Error {}

// The work itself. What it returns is the task's result; an exception is a failure.
//
// `stop` is an AbortSignal. It is aborted when the task is cancelled, its time is up, its lease is
// lost or the worker ends; pass it on to fetch() and the like. A task may run more than once, so
// this must be safe to repeat. It must not compute for seconds without an await: heartbeats share
// its thread. Such work belongs into a worker thread or a child process.
//
// task.checkpoint is what an earlier run wrote down, task.answer what the task was released with.
// What is no JSON has another name: checkpoint_text or checkpoint_base64.
async function handle(task, stop) {
  stop.throwIfAborted();
  const { to } = task.payload;
  if (!to.includes('@')) throw new CannotSucceed(`${to} is not an address`);
  return { sent: to, attempt: (task.counters.attempts ?? 0) + 1 };
}

// A request failed: it may be sent again after `pause` ms, or is refused if there is none.
class Trouble extends Error {
  constructor(message, code, pause) {
    super(message);
    Object.assign(this, { code, pause });
  }
}

const log = (words) => console.error(words);
// A text that fits into an error of a task, which has at most 8 KiB.
const cut = (text) => Buffer.from(text).subarray(0, 4000).toString();
// Waits, but not beyond the abort of a signal.
const wait = (ms, signal) => sleep(ms, undefined, { signal }).catch(() => {});

// One task under a lease, from the take to the settlement.
class Run {
  why = null; // it was told to stop: cancelled, timeout, lost or stopping
  ending = null;
  #stop = new AbortController();
  #end;

  constructor(task) {
    this.task = task;
    this.over = new Promise((resolve) => (this.#end = resolve));
    this.signal = this.#stop.signal;
    const lease = Date.parse(task.until) - Date.parse(task.started_at);
    // At least every 10 s, because the worker learns of a cancellation by its heartbeat.
    this.beat = Math.round(Math.min(Math.max(1000, lease) / 3, 10_000));
    this.began = performance.now();
    this.timeUp = this.began + (task.timeout_ms ?? Infinity);
  }

  tell(why) {
    if (!this.why || why === 'lost') this.why = why;
    this.#stop.abort(new Error(`the task should stop: ${why}`));
  }

  // The first ending counts: a handler that was given up may still return.
  end(outcome, more) {
    this.ending ??= { outcome, ...more };
    this.#end();
  }

  fail(thrown) {
    const error = { message: cut(String(thrown?.message || thrown)) };
    if (this.why === 'cancelled') this.end('cancel', { reason: 'its handler stopped' });
    else if (this.why === 'stopping') this.end('give_back');
    else if (this.why === 'timeout') this.end('failed', { error: { code: 'timeout', ...error } });
    else if (thrown instanceof CannotSucceed) this.end('failed', { error, retryable: false });
    else this.end('failed', { error }); // the retry policy of the queue decides
  }
}

export class Worker {
  server = (process.env.MILLRACE_URL ?? 'http://127.0.0.1:7070').replace(/\/+$/, '');
  name = `${hostname()}:${process.pid}`;
  exitCode = 0;
  #runs = new Set();
  #stopping = new AbortController(); // nothing more is taken
  #gone = new AbortController(); // nothing more is sent
  #away = false;
  #sums = { handled: 0, errors: 0, busy_ms: 0 };

  constructor(queue, handle, { concurrency = 4, grace = 20, untilEmpty = false } = {}) {
    Object.assign(this, { queue, handle, concurrency, grace, untilEmpty });
  }

  get #stops() {
    return this.#stopping.signal.aborted;
  }

  async #call(path, body, timeout = patience) {
    const headers = { 'Content-Type': 'application/json' };
    if (process.env.MILLRACE_KEY) headers.Authorization = `Bearer ${process.env.MILLRACE_KEY}`;
    const signal = AbortSignal.timeout(timeout);
    const request = { method: 'POST', headers, body: JSON.stringify(body), signal };
    let answer, text, json;
    try {
      answer = await fetch(this.server + path, request);
      text = await answer.text();
      if (answer.ok) json = JSON.parse(text);
    } catch (error) {
      const why = error.cause?.message ?? error.message;
      throw new Trouble(`POST ${path}: ${why}`, 'unavailable', 0);
    }
    if (!answer.ok) throw troubleOf(answer, text, path);
    this.#note(null);
    return json;
  }

  // Says once that the server is away, and once that it is back.
  #note(trouble) {
    if (this.#away === Boolean(trouble)) return;
    this.#away = Boolean(trouble);
    log(trouble ? `the server is away: ${trouble.message}` : 'the server is back');
  }

  // Asks until the server answers; null if the signal `givenUp` comes first.
  async #insist(path, body, timeout, givenUp) {
    for (let pause = 500; !givenUp.aborted; pause = Math.min(pause * 2, longestPause)) {
      try {
        return await this.#call(path, body, timeout);
      } catch (trouble) {
        if (trouble.pause === undefined) throw trouble;
        this.#note(trouble);
        // Workers that lost a server together should not all come back at one moment.
        const ms = Math.max(pause, trouble.pause) * (1 + 0.3 * Math.random());
        await wait(this.#stops ? Math.min(ms, 500) : ms, givenUp);
      }
    }
    return null;
  }

  // Works one task after the other: `concurrency` loops hold at most as many tasks.
  async #loop() {
    try {
      let run = await this.#take();
      while (run || !(this.#stops || this.untilEmpty)) {
        if (run) {
          await this.#work(run);
          run = await this.#settle(run);
        }
        run ??= await this.#take();
      }
    } catch (error) { // a wrong key or queue, for example: the operator has to look
      log(`the worker stops: ${error.message}`);
      this.exitCode = 1;
      this.#stopping.abort();
    }
  }

  async #take() {
    const body = { worker: this.name, queue: this.queue, most: 1 };
    body.wait_ms = this.untilEmpty ? 100 : poll;
    const signal = this.#stopping.signal;
    return this.#taken(await this.#insist('/v1/take', body, poll + patience, signal));
  }

  #taken(answer) {
    if (!answer?.tasks.length) return null;
    const run = new Run(answer.tasks[0]);
    this.#runs.add(run);
    return run;
  }

  // Runs the handler, and heartbeats beside it until it is over.
  async #work(run) {
    if (this.#stops) return run.end('give_back'); // the task came with the last take
    this.#attempt(run);
    let nextBeat = run.began + run.beat;
    const timer = setInterval(async () => {
      const now = performance.now();
      if (now >= run.timeUp) run.tell('timeout');
      // A handler that ignores its timeout loses the lease: it may hang.
      if (now < nextBeat || now >= run.timeUp + lastWord || run.why === 'lost') return;
      nextBeat = Infinity; // one heartbeat at a time
      await this.#heartbeat(run);
      nextBeat = performance.now() + run.beat;
    }, Math.min(run.beat, 500));
    await run.over;
    clearInterval(timer);
  }

  async #attempt(run) {
    try {
      const result = await this.handle(run.task, run.signal);
      JSON.stringify(result); // what is no JSON is the handler's failure
      run.end('done', { result });
    } catch (error) {
      run.fail(error);
    }
    this.#sums.handled += 1;
    if (run.ending.outcome === 'failed') this.#sums.errors += 1;
    this.#sums.busy_ms += Math.round(performance.now() - run.began);
  }

  async #heartbeat(run) {
    const { id, token } = run.task;
    try {
      const answer = await this.#call(`/v1/tasks/${id}/extend`, { token }, run.beat);
      if (answer.cancel_requested) run.tell('cancelled');
    } catch (trouble) {
      if (trouble.pause !== undefined) this.#note(trouble);
      else if (!run.ending) log(trouble.message);
      if (['lease_lost', 'not_found'].includes(trouble.code)) run.tell('lost');
    }
  }

  // Sends the ending until the server has it; the next task may come with the answer.
  async #settle(run) {
    const { id, token } = run.task;
    let following = null;
    let takes = true;
    while (run.why !== 'lost') { // else the result is dropped
      const body = { worker: this.name, settle: [{ id, token, ...run.ending }] };
      if (takes && !following && !this.#stops) body.take = { queue: this.queue, most: 1 };
      let settled;
      try {
        const answer = await this.#insist('/v1/work', body, patience, this.#gone.signal);
        if (!answer) break; // the worker must go; the lease ends by itself
        following ??= this.#taken(answer);
        settled = answer.settled[0];
      } catch (trouble) {
        takes = false; // perhaps only the take is refused
        settled = { error: { code: trouble.code, message: trouble.message } };
      }
      log(`${id}: ${settled.state ?? settled.error.message}`);
      if (!settled.error || !(await this.#sendAgain(run, settled.error))) break;
    }
    this.#runs.delete(run);
    return following;
  }

  // What becomes of an ending that the server refused.
  async #sendAgain(run, { code, message }) {
    if (['unavailable', 'limited', 'unauthorized', 'forbidden'].includes(code)) {
      await wait(1000 * (1 + Math.random()), this.#gone.signal); // the ending itself is good
      return !this.#gone.signal.aborted;
    }
    const refusedBefore = run.ending.error?.code === 'settlement_refused';
    if (refusedBefore || ['lease_lost', 'not_found'].includes(code)) return false;
    const error = { code: 'settlement_refused', message: cut(message) };
    run.ending = { outcome: 'failed', error }; // its result is too large, perhaps
    return true;
  }

  // Says every 5 s what this worker does, for `millrace workers` and the dashboard. The answer may
  // assign processors to queues, which means nothing to a worker of one queue.
  async #report() {
    for (let last = false; ; ) {
      last = this.#gone.signal.aborted;
      const processors = this.concurrency;
      const busy = [...this.#runs].filter((run) => !run.ending).length;
      const queue = { queue: this.queue, processors, most: processors, busy, ...this.#sums };
      const body = { processors, queues: [queue], stopping: this.#stops };
      const path = `/v1/workers/${encodeURIComponent(this.name)}/beat`;
      await this.#call(path, body).catch(() => {}); // the loops notice, too, and say so
      if (last) return;
      await wait(5000, this.#gone.signal);
    }
  }

  // Works until SIGTERM or SIGINT, or until the queue is empty; returns the exit code.
  async run() {
    for (const name of ['SIGTERM', 'SIGINT']) {
      process.once(name, () => this.#stopping.abort()); // again: it ends at once
    }
    const all = Promise.all(Array.from({ length: this.concurrency }, () => this.#loop()));
    const beats = this.#report();
    const told = new Promise((resolve) => this.#stopping.signal.addEventListener('abort', resolve));
    await Promise.race([all, told]);
    await Promise.race([all, sleep(this.grace * 1000)]);
    for (const run of this.#runs) run.tell('stopping');
    await Promise.race([all, sleep(lastWord)]);
    for (const run of this.#runs) run.end('give_back');
    await Promise.race([all, sleep(patience)]);
    this.#stopping.abort();
    this.#gone.abort();
    await Promise.race([beats, sleep(1000)]); // the last one says that the worker stops
    return this.exitCode;
  }
}

// An HTTP error, with the words of its problem+json.
function troubleOf(answer, text, path) {
  const later = answer.status >= 500 || [408, 425, 429].includes(answer.status);
  const seconds = Number.parseInt(answer.headers.get('Retry-After'), 10) || 0;
  const pause = later ? 1000 * seconds : undefined;
  let code = 'unknown'; // where a proxy answers
  try {
    code = JSON.parse(text).code;
  } catch {}
  return new Trouble(`POST ${path}: ${answer.status} ${cut(text)}`, code, pause);
}

const usage = `usage: node worker.mjs [--concurrency N] [--grace SECONDS] [--until-empty] QUEUE

Works the tasks of a Millrace queue.

  --concurrency N   tasks at the same time [4]
  --grace SECONDS   for handlers to end after SIGTERM [20]
  --until-empty     end when the queue is empty

MILLRACE_URL is the server (http://127.0.0.1:7070), MILLRACE_KEY its key, if any.`;

function refuse(why) {
  console.error(`${usage}\n\n${why}`);
  process.exit(2);
}

export async function main(handle) {
  const text = { type: 'string' };
  const flag = { type: 'boolean' };
  const options = { concurrency: text, grace: text, 'until-empty': flag, help: flag };
  let given;
  try {
    given = parseArgs({ options, allowPositionals: true });
  } catch (error) {
    refuse(error.message);
  }
  const [queue, ...rest] = given.positionals;
  const concurrency = Number(given.values.concurrency ?? 4);
  const grace = Number(given.values.grace ?? 20);
  if (given.values.help) return console.log(usage);
  if (!queue || rest.length) refuse('name one queue');
  if (queue.startsWith('-')) refuse('the name of a queue does not begin with -');
  if (!(Number.isInteger(concurrency) && concurrency > 0 && grace >= 0)) {
    refuse('--concurrency is at least 1, --grace at least 0');
  }
  const untilEmpty = given.values['until-empty'];
  const worker = new Worker(queue, handle, { concurrency, grace, untilEmpty });
  if (!/^https?:\/\//.test(worker.server)) {
    refuse(`MILLRACE_URL is ${worker.server}; it begins with http:// or https://`);
  }
  process.exit(await worker.run()); // also if a handler hangs
}

if (process.argv[1] && import.meta.url === pathToFileURL(realpathSync(process.argv[1])).href) {
  await main(handle);
}
