// What the peers on PostgreSQL share: the server whose socket is in a directory, and how puts and work are
// timed. Every command begins and ends with an empty server, so that no round pays for another.
import pg from "pg";

import { print_figures, seconds_now } from "./load.mjs";
import { start_processes } from "./processes.mjs";

export const connection_to = ({ socket, port }, max) => ({
  host: socket, port: Number(port), user: "postgres", database: "postgres", max,
});

export function pool_to(read, max) {
  const pool = new pg.Pool(connection_to(read, max));
  const give_up = (error) => {
    console.error(error);
    process.exit(1);
  };
  pool.on("error", give_up);
  pool.on("connect", (client) => client.on("error", give_up));
  return pool;
}

// The connections are open before the clock starts.
export const connect_all = (pool, max) =>
  Promise.all(Array.from({ length: max }, () => pool.query("select pg_sleep(0.01)")));

// Times `tasks` tasks after a fifth as many that are not counted: the compiler of Node needs them.
//   install(pool)         makes the schema
//   prepare(pool, tasks)  before each run; preloads what will be worked
//   count(pool)           how many tasks wait
//   waiting(tasks)        how many should wait after the runs
export async function measure(script, schema, read, { install, prepare, count, waiting }) {
  const pool = pool_to(read, 2);
  const drop = () => pool.query(`drop schema if exists ${schema} cascade`);
  await drop();
  await install(pool);
  const processes = await start_processes(script, read.processes ?? 1);
  const run = async (tasks) => {
    await prepare(pool, tasks);
    const begin = seconds_now();
    await processes.run(tasks);
    return tasks / (seconds_now() - begin);
  };
  const tasks = Number(read.tasks);
  const warm_up = Math.ceil(tasks / 5);
  await run(warm_up);
  const per_second = await run(tasks);
  const there = await count(pool);
  const expected = waiting(warm_up + tasks);
  if (there !== expected) throw new Error(`${there} jobs wait, ${expected} should`);
  processes.end();
  await drop();
  await pool.end();
  print_figures({ per_second });
}
