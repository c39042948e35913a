// Graphile Worker on a PostgreSQL whose socket is in DIRECTORY, with the settings of its own
// performance page: a local queue of 500, completions in batches without delay, 24 jobs at once.
//
//   node graphile.mjs work --socket DIRECTORY --port N --tasks T --processes P    {"per_second":…}
import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";

import { Logger, runMigrations, runOnce } from "graphile-worker";
import pg from "pg";

import { payload, print_figures, read_arguments, seconds_now } from "./load.mjs";

const type = "send-email";
const quiet = new Logger(() => () => {});

function pool_to({ socket, port }, max) {
  const pool = new pg.Pool({
    host: socket, port: Number(port), user: "postgres", database: "postgres", max,
  });
  const give_up = (error) => {
    console.error(error);
    process.exit(1);
  };
  pool.on("error", give_up);
  pool.on("connect", (client) => client.on("error", give_up));
  return pool;
}

const preset = {
  worker: {
    concurrentJobs: 24,
    maxPoolSize: 25,
    localQueue: { size: 500 },
    completeJobBatchDelay: 0,
    failJobBatchDelay: 0,
  },
};

async function preload(pool, tasks) {
  await pool.query(
    `select count(*) from graphile_worker.add_jobs(array(
       select json_populate_record(null::graphile_worker.job_spec,
                                   json_build_object('identifier', $1::text, 'payload', $2::json))
       from generate_series(1, $3)))`,
    [type, JSON.stringify(payload), tasks],
  );
  await pool.query("vacuum analyze graphile_worker._private_jobs");
}

async function work(read) {
  const pool = pool_to(read, 2);
  await runMigrations({ pgPool: pool, logger: quiet });
  const children = Array.from({ length: Number(read.processes) }, () =>
    fork(fileURLToPath(import.meta.url), ["child", ...process.argv.slice(3)]),
  );
  for (const child of children) {
    child.on("exit", (code) => {
      if (code !== 0) process.exit(1);
    });
  }
  const next_message = (child) => new Promise((resolve) => child.once("message", resolve));
  // Works until nothing is left; so many tasks a second.
  const run = async (tasks) => {
    await preload(pool, tasks);
    const begin = seconds_now();
    const finished = children.map(next_message);
    for (const child of children) child.send("go");
    await Promise.all(finished);
    return tasks / (seconds_now() - begin);
  };
  await Promise.all(children.map(next_message));
  await run(Math.ceil(Number(read.tasks) / 5)); // the compiler of Node needs it
  const per_second = await run(Number(read.tasks));
  const left = await pool.query("select count(*)::int as n from graphile_worker._private_jobs");
  if (left.rows[0].n !== 0) throw new Error(`${left.rows[0].n} jobs were not worked`);
  for (const child of children) child.disconnect();
  await pool.end();
  print_figures({ per_second });
}

async function child(read) {
  const pool = pool_to(read, preset.worker.maxPoolSize);
  // Connections are there before the clock starts.
  await Promise.all(Array.from({ length: preset.worker.maxPoolSize }, () => pool.query("select 1")));
  process.on("message", async () => {
    await runOnce({
      preset,
      pgPool: pool,
      taskList: { [type]: async () => {} },
      logger: quiet,
      noHandleSignals: true,
    });
    process.send("finished");
  });
  process.on("disconnect", () => process.exit(0));
  process.send("ready");
}

const read = read_arguments();
await { work, child }[read.mode](read);
