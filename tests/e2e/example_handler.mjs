// examples/node/worker.mjs with a handler that does what its task says and writes it down.
//
//   node example_handler.mjs EXAMPLE RECORD QUEUE…    what comes after RECORD is for the example
import { appendFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';

const [example, record] = process.argv.splice(2, 2);
const { CannotSucceed, main } = await import(pathToFileURL(example).href);

function note(what, { id, token }) {
  appendFileSync(record, JSON.stringify({ what, id, token, at: Date.now() / 1000 }) + '\n');
}

await main(async (task, stop) => {
  note('began', task);
  const { seconds, fail, hopeless, deaf, show_steps, result_bytes = 1 } = task.payload;
  if (show_steps) {
    const { checkpoint = null, answer = null, checkpoint_text = null } = task;
    return { checkpoint, answer, checkpoint_text };
  }
  if (fail) throw new Error(fail);
  if (hopeless) throw new CannotSucceed(hopeless);
  try {
    await sleep(seconds * 1000, undefined, deaf ? {} : { signal: stop });
  } catch {
    note('stopped', task);
    throw new Error('it was told to stop');
  }
  note('ended', task);
  return 'x'.repeat(result_bytes);
});
