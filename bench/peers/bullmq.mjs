// BullMQ on a Redis at 127.0.0.1:PORT.
//
//   node bullmq.mjs add --port N --seconds S --in-flight 64        {"per_second":…}
//   node bullmq.mjs work --port N --tasks T --concurrency 50       {"per_second":…}
//   node bullmq.mjs latency --port N --seconds S --rate 200        {"p50_ms":…,"p99_ms":…}
import { Worker as Thread, isMainThread, parentPort, workerData } from "node:worker_threads";
import { fileURLToPath } from "node:url";

import { Queue, Worker } from "bullmq";

import { payload, print_figures, quantile, read_arguments, seconds_now } from "./load.mjs";

const name = "emails";
const type = "send-email";
const options = { removeOnComplete: true };
const warm_up_seconds = 0.7; // the compiler of Node needs it

const connection_to = (port) => ({ host: "127.0.0.1", port, maxRetriesPerRequest: null });

async function add({ port, seconds, "in-flight": in_flight }) {
  const queue = new Queue(name, { connection: connection_to(port) });
  await queue.waitUntilReady();
  const begin = seconds_now() + warm_up_seconds;
  const end = begin + Number(seconds);
  let added = 0;
  const caller = async () => {
    for (;;) {
      await queue.add(type, payload, options);
      const now = seconds_now();
      if (now >= end) return;
      if (now >= begin) ++added;
    }
  };
  await Promise.all(Array.from({ length: Number(in_flight) }, caller));
  await queue.close();
  print_figures({ per_second: added / Number(seconds) });
}

// Only the working is timed, from the end of the warm-up on; the tasks are there before.
async function work({ port, tasks, concurrency }) {
  const warm_up = Math.ceil(Number(tasks) / 5);
  const all = warm_up + Number(tasks);
  const connection = connection_to(port);
  const queue = new Queue(name, { connection });
  const job = { name: type, data: payload, opts: options };
  for (let added = 0; added < all; added += 1000) {
    await queue.addBulk(Array(Math.min(1000, all - added)).fill(job));
  }
  await queue.close();
  const worker = new Worker(name, async () => {}, {
    connection,
    concurrency: Number(concurrency),
    removeOnComplete: { count: 0 },
    autorun: false,
  });
  await worker.waitUntilReady();
  let done = 0;
  let begin = 0;
  const seconds = await new Promise((resolve) => {
    worker.on("completed", () => {
      if (++done === warm_up) begin = seconds_now();
      if (done === all) resolve(seconds_now() - begin);
    });
    worker.run();
  });
  await worker.close();
  print_figures({ per_second: Number(tasks) / seconds });
}

// The worker has a thread of its own, so that neither side waits for the other's event loop.
async function latency({ port, seconds, rate, concurrency }) {
  const thread = new Thread(fileURLToPath(import.meta.url), { workerData: { port, concurrency } });
  const told = (what) => new Promise((resolve) => {
    thread.on("message", (message) => message[what] !== undefined && resolve(message[what]));
  });
  await told("ready");
  const queue = new Queue(name, { connection: connection_to(port) });
  await queue.waitUntilReady();
  const begin = seconds_now();
  const end = begin + warm_up_seconds + Number(seconds);
  const adds = [];
  for (let next = begin; next < end; next += 1 / Number(rate)) {
    while (seconds_now() < next) await new Promise((resolve) => setTimeout(resolve, 1));
    const counts = next >= begin + warm_up_seconds;
    adds.push(queue.add(type, { ...payload, put_at: seconds_now(), counts }, options));
  }
  await Promise.all(adds);
  thread.postMessage(adds.length);
  const waits = await told("waits");
  await queue.close();
  print_figures({ p50_ms: quantile(waits, 0.5) * 1e3, p99_ms: quantile(waits, 0.99) * 1e3 });
}

async function work_for_latency({ port, concurrency }) {
  const waits = [];
  let taken = 0;
  let expected = Infinity;
  const worker = new Worker(
    name,
    async (job) => {
      const waited = seconds_now() - job.data.put_at;
      ++taken;
      if (job.data.counts) waits.push(waited);
    },
    { connection: connection_to(port), concurrency: Number(concurrency) },
  );
  const finish_if_all = async () => {
    if (taken < expected) return;
    await worker.close();
    parentPort.postMessage({ waits });
    parentPort.close();
  };
  worker.on("completed", finish_if_all);
  parentPort.on("message", (added) => {
    expected = added;
    finish_if_all();
  });
  await worker.waitUntilReady();
  parentPort.postMessage({ ready: true });
}

if (isMainThread) {
  const read = read_arguments();
  await { add, work, latency }[read.mode](read);
  process.exit(0);
} else {
  await work_for_latency(workerData);
}
