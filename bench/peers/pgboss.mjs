// pg-boss on a PostgreSQL whose socket is in DIRECTORY.
//
//   node pgboss.mjs put   --socket DIRECTORY --port N --tasks T --processes P --in-flight 32
//   node pgboss.mjs batch --socket DIRECTORY --port N --tasks T --processes P --in-flight F --batch B
//   node pgboss.mjs work  --socket DIRECTORY --port N --tasks T --processes P [--finish complete]
//
// Each prints {"per_second":…}. It says that it needs Node 22; 12.35.0 runs on 18, too, where npm only warns. The settings:
//
//   all    maintenance and schedules are off (`supervise`, `schedule`), so that nothing else runs; a queue of the
//          default policy, without LISTEN/NOTIFY, which is for latency; a connection for each call in flight.
//   put    send(), which answers with the id.
//   batch  insert(), "create multiple jobs in one request".
//   work   fetch() and deleteJob() in batches of 500, eight at a time: the documentation's "fetch and delete", which leaves no
//          finished jobs behind, as the others do. Tried beside it: complete() (a quarter slower, and the jobs stay), work()
//          with `burstWhenBatchFull` (half as fast), batches of 200, 1,000 and 2,000 and fewer at a time (slower), a table of
//          its own for the queue (`partition`) and `orderByCreatedOn: false` (no faster).
import { fileURLToPath } from "node:url";

import { PgBoss } from "pg-boss";

import { payload, read_arguments } from "./load.mjs";
import { connect_all, connection_to, measure } from "./postgres.mjs";
import { put_all, serve_parent } from "./processes.mjs";

const script = fileURLToPath(import.meta.url);
const schema = "pgboss";
const queue = "emails";
const batch_size = 500;
const workers = 8; // per process

async function boss_on(read, max) {
  const boss = new PgBoss({ ...connection_to(read, max), supervise: false, schedule: false });
  boss.on("error", (error) => {
    console.error(error);
    process.exit(1);
  });
  await boss.start();
  await connect_all({ query: (text) => boss.getDb().executeSql(text) }, max);
  return boss;
}

const insert = (boss, count) => boss.insert(queue, Array(count).fill({ data: payload }));

function plan_for(read, { preloaded }) {
  const with_boss = async (use) => {
    const boss = await boss_on(read, 1);
    await use(boss);
    await boss.stop();
  };
  return {
    install: () => with_boss((boss) => boss.createQueue(queue)),
    async prepare(pool, tasks) {
      if (!preloaded) return;
      await with_boss((boss) =>
        put_all((n) => insert(boss, n), { tasks, in_flight: 1, batch: 5000 }),
      );
      await pool.query("vacuum analyze pgboss.job");
    },
    async count(pool) {
      const { rows } = await pool.query(
        "select count(*)::int as n from pgboss.job where name = $1 and state < 'completed'",
        [queue],
      );
      return rows[0].n;
    },
    waiting: (tasks) => (preloaded ? 0 : tasks),
  };
}

async function putter(read, batch) {
  const in_flight = Math.max(1, Math.floor(Number(read["in-flight"]) / Number(read.processes ?? 1)));
  const boss = await boss_on(read, in_flight);
  const put = batch === undefined ? () => boss.send(queue, payload) : (n) => insert(boss, n);
  serve_parent((tasks) => put_all(put, { tasks, in_flight, batch }));
}

// Works until nothing is left, also on tasks from the shares of others.
async function worker(read) {
  const boss = await boss_on(read, workers);
  const finish = read.finish === "complete" ? boss.complete.bind(boss) : boss.deleteJob.bind(boss);
  const work = async () => {
    for (;;) {
      const jobs = await boss.fetch(queue, { batchSize: batch_size });
      if (jobs.length === 0) return;
      await finish(queue, jobs.map((job) => job.id));
    }
  };
  serve_parent(() => Promise.all(Array.from({ length: workers }, work)));
}

const parent = (preloaded) => (read) =>
  measure(script, schema, read, plan_for(read, { preloaded }));
const modes = {
  put: { parent: parent(false), child: (read) => putter(read) },
  batch: { parent: parent(false), child: (read) => putter(read, Number(read.batch)) },
  work: { parent: parent(true), child: worker },
};

const read = read_arguments();
await modes[read.mode][read.child ? "child" : "parent"](read);
