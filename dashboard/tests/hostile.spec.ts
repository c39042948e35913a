// Whatever others wrote is text: in the page, on the command line and in the log.
import { expect, test } from './fixtures.ts';
import type { Server } from './server.ts';

const script = '<script>window.hacked = true</script>';
const image = '<img src="x:" onerror="window.hacked = true">';
const markup = `</pre></span>${script}${image}<a href="javascript:window.hacked=true">x</a>&lt;b&gt;{{1+1}}`;
const escapes = '\x1b[2J\x1b]0;title\x07\x9b31m\r\x08\u202egnp.exe\u2066\x00';
const evil = `${markup}${escapes}`;
// Types may have nothing of it, and names of clients, groups and tags no control characters.
const name = `a${markup}`.slice(0, 90);

async function hostile(server: Server): Promise<string> {
  const payload = { [markup]: evil, text: evil, list: [evil, { __proto__: null, constructor: evil }] };
  const put = { queue: 'emails', type: 'plain', payload, tags: [name], client_id: name, group: name, metadata: { [markup]: evil }, callback: { url: 'https://example.invalid/%3Cscript%3E' } };
  await server.must('POST', '/v1/tasks', put);
  const { tasks } = await server.must('POST', '/v1/take', { worker: markup.slice(0, 60), queue: 'emails', most: 1 });
  const [task] = tasks as { id: string; token: string }[];
  if (!task) throw new Error('nothing was taken');
  await server.must('POST', `/v1/tasks/${task.id}/log`, { token: task.token, lines: [evil] });
  await server.settle(task, { outcome: 'failed', retryable: false, error: { code: markup.slice(0, 60), message: evil, details: evil, stack: evil } });
  return task.id;
}

const hacked = 'window.hacked';

test('in every page', async ({ page, server }) => {
  test.setTimeout(90_000);
  const id = await hostile(server);
  const done = await server.put('emails', { payload_text: evil });
  const [task] = await server.take('emails');
  if (!task) throw new Error('nothing was taken');
  await server.settle(task, { outcome: 'done', result_text: evil });
  page.on('dialog', (dialog) => {
    throw new Error(`a dialog: ${dialog.message()}`);
  });
  for (const path of ['', 'tasks', `tasks?text=${encodeURIComponent(image)}`, `tasks/${id}`, `tasks/${done}`, 'queues/emails', 'dead', 'events', 'workers', 'actions', 'operations', 'schedules']) {
    await page.goto(`${server.url}/${path}`);
    await expect(page.locator('main h1')).toHaveCount(1);
    await expect(page.locator('main .loading')).toHaveCount(0);
    if (path.startsWith('tasks/')) await expect(page.getByRole('heading', { name: 'Payload' })).toBeVisible();
    expect(await page.evaluate(hacked), path).toBeUndefined();
    // Nothing of it became an element; the page itself has no image but its own.
    expect(await page.locator('main img, main script, main a[href^="javascript:"]').count(), path).toBe(0);
    expect(await page.getByRole('main').innerText(), path).not.toMatch(/[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/);
  }
});

test('is still readable on the page of the task', async ({ page, server }) => {
  const id = await hostile(server);
  await page.goto(`${server.url}/tasks/${id}`);
  const error = page.locator('section').filter({ has: page.getByRole('heading', { name: 'Error', exact: true }) });
  await expect(error).toContainText(script);
  await expect(error).toContainText(image);
  await expect(error).toContainText('␛[2J');
  await expect(error).toContainText('\\u202egnp.exe');
  await expect(page.getByRole('log')).toContainText(script);
  await expect(page.locator('.json').first()).toContainText('<script>window.hacked');
});

test('what is copied is what was sent, escapes and all', async ({ page, server, context }) => {
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  const id = await server.put('emails', { payload_text: `a${escapes.replaceAll('\0', '').replaceAll('\r', '')}` });
  await page.goto(`${server.url}/tasks/${id}`);
  await page.getByRole('button', { name: 'Copy: Payload' }).click();
  expect(await page.evaluate(() => navigator.clipboard.readText())).toContain('\x1b[2J');
});

test('hostile addresses do nothing', async ({ page, server }) => {
  await server.put('emails');
  for (const path of [`tasks?queue=emails&type=${encodeURIComponent(markup)}`, `tasks?queue=emails&cursor=${encodeURIComponent(script)}`, `tasks?queue=emails&state=${encodeURIComponent(script)}&within=__proto__`, `tasks?text=${'x'.repeat(150)}`]) {
    await page.goto(`${server.url}/${path}`);
    await expect(page.getByRole('main').getByRole('heading', { level: 1 })).toBeVisible();
    expect(await page.evaluate(hacked)).toBeUndefined();
    expect(await page.locator('main script, main img').count()).toBe(0);
  }
});

test('on the command line and in the log', async ({ server }) => {
  const id = await hostile(server);
  for (const words of [['task', 'show', id], ['tasks', '--queue', 'emails'], ['dead'], ['workers'], ['task', 'log', id], ['queues'], ['task', 'explain', id]]) {
    const said = server.run(...words);
    expect(said, words.join(' ')).not.toMatch(/[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/);
  }
  await server.stop();
  expect(server.said).not.toMatch(/[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/);
});
