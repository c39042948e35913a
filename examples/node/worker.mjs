// Works the tasks of a Millrace queue with nothing but Node 18 or later.
//
//   node worker.mjs emails                  works until interrupted
//   node worker.mjs emails --until-empty    ends when there is nothing left
//
// MILLRACE_URL is the server (http://127.0.0.1:7070), MILLRACE_KEY its key, if it needs one.

const server = process.env.MILLRACE_URL ?? 'http://127.0.0.1:7070';
const key = process.env.MILLRACE_KEY;
const worker = `node-${process.pid}`;
const [queue, flag] = process.argv.slice(2);
const untilEmpty = flag === '--until-empty';
const take = { queue, most: 10, wait_ms: untilEmpty ? 100 : 30_000 };

// POSTs JSON and returns the answer; an error of the server becomes an exception with its words.
async function call(path, body) {
  const headers = { 'Content-Type': 'application/json' };
  if (key) headers.Authorization = `Bearer ${key}`;
  const answer = await fetch(server + path, { method: 'POST', headers, body: JSON.stringify(body) });
  const json = await answer.json();
  if (!answer.ok) throw new Error(json.detail ?? JSON.stringify(json));
  return json;
}

class CannotSucceed extends Error {}

// The work itself. What it returns is the task's result; an exception is a failure.
async function handle(task) {
  const { to } = task.payload;
  if (!to.includes('@')) throw new CannotSucceed(`${to} is not an address`);
  return { sent: to, attempt: (task.counters?.attempts ?? 0) + 1 };
}

// Runs one task and says how it ended, with the token that proves the lease is ours.
async function settle({ id, token, ...task }) {
  try {
    return { id, token, outcome: 'done', result: await handle(task) };
  } catch (error) {
    const end = { id, token, outcome: 'failed', error: { message: error.message } };
    return error instanceof CannotSucceed ? { ...end, retryable: false } : end;
  }
}

let { tasks } = await call('/v1/take', { worker, ...take });
while (tasks.length > 0 || !untilEmpty) {
  // One round trip settles what is finished and takes what comes next.
  const ends = await Promise.all(tasks.map(settle));
  const answer = await call('/v1/work', { worker, settle: ends, take });
  ends.forEach((end, i) => {
    const settled = answer.settled[i];
    console.log(end.id, settled.state ?? settled.error.message);
  });
  tasks = answer.tasks;
  if (tasks.length === 0 && !untilEmpty) ({ tasks } = await call('/v1/take', { worker, ...take }));
}
