// Graphile Worker on a PostgreSQL whose socket is in DIRECTORY.
//
//   node graphile.mjs put   --socket DIRECTORY --port N --tasks T --processes P --in-flight 32
//   node graphile.mjs batch --socket DIRECTORY --port N --tasks T --processes P --in-flight F --batch B
//   node graphile.mjs work  --socket DIRECTORY --port N --tasks T --processes P
//
// Each prints {"per_second":…}. The settings are its documentation's:
//
//   put    one WorkerUtils per process, shared by all callers ("We recommend building one instance of WorkerUtils"),
//          on a pool with a connection for each call in flight, so that none waits for another; addJob(). Each of
//          them notifies, and PostgreSQL commits one transaction that notifies at a time: more in flight do not help.
//   batch  addJobs(), the way to "efficiently add a batch of jobs".
//   work   its performance page: a local queue of 500, completions in batches without delay, 24 jobs at once,
//          25 connections. Finished jobs are removed, as it always does.
import { fileURLToPath } from "node:url";

import { Logger, makeWorkerUtils, runMigrations, runOnce } from "graphile-worker";

import { payload, read_arguments } from "./load.mjs";
import { connect_all, measure, pool_to } from "./postgres.mjs";
import { put_all, serve_parent } from "./processes.mjs";

const script = fileURLToPath(import.meta.url);
const schema = "graphile_worker";
const type = "send-email";
const quiet = new Logger(() => () => {});

const preset = {
  worker: {
    concurrentJobs: 24,
    maxPoolSize: 25,
    localQueue: { size: 500 },
    completeJobBatchDelay: 0,
    failJobBatchDelay: 0,
  },
};

const install = (pool) => runMigrations({ pgPool: pool, logger: quiet });

async function count(pool) {
  const { rows } = await pool.query("select count(*)::int as n from graphile_worker._private_jobs");
  return rows[0].n;
}

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

const puts = { install, prepare: async () => {}, count, waiting: (tasks) => tasks };
const works = { install, prepare: preload, count, waiting: () => 0 };

async function putter(read, batch) {
  const in_flight = Math.max(1, Math.floor(Number(read["in-flight"]) / Number(read.processes ?? 1)));
  const pool = pool_to(read, in_flight);
  const utils = await makeWorkerUtils({ pgPool: pool, logger: quiet });
  await connect_all(pool, in_flight);
  const put = batch === undefined
    ? () => utils.addJob(type, payload)
    : (n) => utils.addJobs(Array(n).fill({ identifier: type, payload }));
  serve_parent((tasks) => put_all(put, { tasks, in_flight, batch }));
}

// Works until nothing is left, also on tasks from the shares of others.
async function worker(read) {
  const pool = pool_to(read, preset.worker.maxPoolSize);
  await connect_all(pool, preset.worker.maxPoolSize);
  serve_parent(() =>
    runOnce({
      preset,
      pgPool: pool,
      taskList: { [type]: async () => {} },
      logger: quiet,
      noHandleSignals: true,
    }),
  );
}

const modes = {
  put: { parent: (read) => measure(script, schema, read, puts), child: (read) => putter(read) },
  batch: {
    parent: (read) => measure(script, schema, read, puts),
    child: (read) => putter(read, Number(read.batch)),
  },
  work: { parent: (read) => measure(script, schema, read, works), child: worker },
};

const read = read_arguments();
await modes[read.mode][read.child ? "child" : "parent"](read);
