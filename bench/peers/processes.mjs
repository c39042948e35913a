// Processes that work beside each other: Node computes in one thread, so a peer may have several.
import { fork } from "node:child_process";

const next_message = (child) => new Promise((resolve) => child.once("message", resolve));

// Starts `script child …` so many times and waits until each is ready.
export async function start_processes(script, count) {
  const children = Array.from({ length: Number(count) }, () =>
    fork(script, ["child", ...process.argv.slice(2)]),
  );
  for (const child of children) {
    child.on("exit", (code) => {
      if (code !== 0) process.exit(1);
    });
  }
  await Promise.all(children.map(next_message));
  return {
    // Gives every child its share of the tasks; waits until all have finished.
    async run(tasks) {
      const finished = children.map(next_message);
      children.forEach((child, i) => {
        const share = Math.floor((tasks + i) / children.length);
        child.send({ tasks: share });
      });
      await Promise.all(finished);
    },
    end() {
      for (const child of children) child.disconnect();
    },
  };
}

// In the child: does what each message says.
export function serve_parent(run) {
  process.on("message", async ({ tasks }) => {
    await run(tasks);
    process.send("finished");
  });
  process.on("disconnect", () => process.exit(0));
  process.send("ready");
}

// Calls `put(n)` until so many tasks are put: `in_flight` calls at a time, of `batch` tasks each.
export async function put_all(put, { tasks, in_flight, batch = 1 }) {
  let left = tasks;
  const caller = async () => {
    while (left > 0) {
      const n = Math.min(batch, left);
      left -= n;
      await put(n);
    }
  };
  await Promise.all(Array.from({ length: in_flight }, caller));
}
