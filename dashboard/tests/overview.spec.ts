// The overview: teaches the first steps, shows every queue, says what needs attention, draws the past.
import { spawn, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { expect, expect_accessible, forgive, test, themes, use_language, use_theme } from './fixtures.ts';
import { program } from './server.ts';

const env = { ...process.env, PATH: `${dirname(resolve(program))}:${process.env.PATH}` };
const row_of = (page: import('@playwright/test').Page, queue: string) => page.locator(`[data-queue="${queue}"]`);

type Run = (sample: string, folder: string, env: NodeJS.ProcessEnv) => { status: number | null; stderr: string };
const by = (program: string, ...flags: string[]): Run => (sample, _, env) => spawnSync(program, [...flags, sample], { encoding: 'utf8', env });
// How each sample of the first steps is run.
const runs: Record<string, Run> = {
  curl: by('sh', '-ec'),
  CLI: by('sh', '-ec'),
  Python: by('python3', '-c'),
  Node: by('node', '--input-type=module', '-e'),
  Go: (sample, folder, env) => {
    const file = join(folder, 'put.go');
    writeFileSync(file, sample);
    return spawnSync('go', ['run', file], { encoding: 'utf8', env });
  },
};

test.describe('a fresh server', () => {
  for (const [how, run] of Object.entries(runs)) {
    test(`teaches the first task by ${how}, and shows it at once`, async ({ page, server }) => {
      test.skip(how === 'Go' && spawnSync('go', ['version']).status !== 0, 'there is no Go here');
      test.setTimeout(300_000); // Go compiles its library the first time
      await page.goto(server.url);
      await page.getByRole('button', { name: how, exact: true }).click();
      const sample = await page.locator('.command code').innerText();
      expect(sample).toContain(server.url);
      const ran = run(sample, server.folder, env);
      expect(ran.status, ran.stderr).toBe(0);
      await expect(row_of(page, 'emails').locator('[data-column=ready]')).toHaveText('1');
      await expect(page.getByRole('heading', { name: 'Put the first task' })).toHaveCount(0);
    });
  }

  test('then teaches the first worker, and lets it be when one has come', async ({ page, server }) => {
    await server.put('mail:first', { payload: { to: 'ann' } });
    await page.goto(server.url);
    await expect(page.getByRole('heading', { name: 'Now start a worker' })).toBeVisible();
    await expect(row_of(page, 'mail:first').locator('[data-condition]')).toHaveText('no worker yet');
    const worker = spawn('sh', ['-ec', `exec ${(await page.locator('.command code').innerText()).split('\n')[1]}`], {
      env: { ...env, MILLRACE_URL: server.url },
      stdio: 'ignore',
    });
    await expect(row_of(page, 'mail:first').locator('[data-column=ready]')).toHaveText('0');
    await expect(page.getByRole('heading', { name: 'Now start a worker' })).toHaveCount(0);
    await expect(page.getByText('Nothing needs attention.')).toBeVisible();
    worker.kill();
  });

  for (const [how, script] of [['Python', 'python/worker.py'], ['Node', 'node/worker.mjs']] as const) {
    test(`the worker in ${how} works`, async ({ page, server }) => {
      const id = await server.put('mail:first', { payload: { to: 'ann@example.org' } });
      await page.goto(server.url);
      await page.getByRole('button', { name: how, exact: true }).click();
      const [exported, command = ''] = (await page.locator('.command code').innerText()).split('\n');
      expect(command).toContain(`examples/${script} 'mail:first'`);
      const once = `${exported}; ${command.replace(/#.*/, '')} --until-empty`;
      const ran = spawnSync('sh', ['-ec', once], { encoding: 'utf8', env, cwd: '..' });
      expect(ran.status, ran.stderr).toBe(0);
      expect((await server.must('GET', `/v1/tasks/${id}`)).state).toBe('completed');
    });
  }

  test('tells a key only what it may do', async ({ page, server }) => {
    server.key = (await server.make_key('ops', ['admin'])).secret;
    const shop = await server.make_key('shop', ['put', 'read'], ['shop.*']);
    await page.goto(server.url);
    await page.getByLabel('API key').fill(shop.secret);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await expect(page.getByRole('heading', { name: 'Put the first task' })).toBeVisible();
    await expect(page.getByRole('button', { name: 'New queue' })).toHaveCount(0);
    await server.put('shop.emails');
    await expect(page.getByText('a worker needs one with the scope work')).toBeVisible();
    for (const path of ['/', '/workers', '/queues/shop.emails']) {
      await page.goto(server.url + path);
      await expect(page.getByRole('heading').first()).toBeAttached();
      await expect(page.locator('main [role=status][aria-label]')).toHaveCount(0);
      await expect(page.getByText('millrace work')).toHaveCount(0);
    }
  });

  for (const how of ['Python', 'Node', 'Go']) {
    test(`the task in ${how} has a key, where one is needed`, async ({ page, server }) => {
      test.skip(how === 'Go' && spawnSync('go', ['version']).status !== 0, 'there is no Go here');
      test.setTimeout(300_000);
      server.key = (await server.make_key('ops', ['admin'])).secret;
      await page.goto(server.url);
      await page.getByLabel('API key').fill(server.key);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByRole('button', { name: how, exact: true }).click();
      const ran = runs[how]!(await page.locator('.command code').innerText(), server.folder, { ...env, MILLRACE_KEY: server.key });
      expect(ran.status, ran.stderr).toBe(0);
      await expect(row_of(page, 'emails').locator('[data-column=ready]')).toHaveText('1');
    });
  }

  test('says how to come in with a key, where one is needed', async ({ page, server, complaints }) => {
    const admin = await server.make_key('ops', ['admin']);
    await page.goto(server.url);
    await page.getByLabel('API key').fill(admin.secret);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await expect(page.locator('.command code')).toContainText('Authorization: Bearer $MILLRACE_KEY');
    forgive(complaints, /status of 401/);
  });
});

// S3-012
test('a queue is shown with all its numbers', async ({ page, server }) => {
  await server.must('PUT', '/v1/queues/emails', { max_concurrent: 20 });
  await server.put_many('emails', 12_345);
  await server.put('emails', { delay_ms: 3_600_000 });
  await server.fail('emails', { message: 'no route' }, { priority: 9 });
  await server.take('emails', 3);
  await page.goto(server.url);
  const row = row_of(page, 'emails');
  await expect(row.locator('[data-column=ready]')).toHaveText('12.3K');
  await expect(row.locator('[data-column=running]')).toHaveText('3');
  await expect(row).toContainText('3/20');
  await expect(row.locator('[data-column=later]')).toHaveText('1');
  await expect(row.locator('[data-column=dead]')).toHaveText('1');
  await expect(row.locator('[data-column=failing]')).toContainText('100%');
  await expect(row.locator('[data-column=oldest]')).toHaveText(/^\d+\ss$/);
  await expect(row.getByRole('img', { name: /Tasks by state: queued 12,342, delayed 1, running 3, failed 1/ })).toBeVisible();
  await expect(row.getByRole('img', { name: /Done per second in the last hour/ })).toBeVisible();
  await expect(page.locator('[data-total=ready]')).toHaveText('12.3K');
  await expect(page.locator('[data-total=running]')).toHaveText('3');
  await expect(page.locator('[data-total=dead]')).toHaveText('1');
  await row.getByRole('link', { name: 'emails' }).click();
  await expect(page).toHaveURL(`${server.url}/queues/emails`);
});

test('what needs attention is on top, with a link to the cause', async ({ page, server }) => {
  await page.goto(server.url);
  await server.put_many('imports', 7);
  await server.must('POST', '/v1/queues/imports/pause', { for_ms: 600_000 });
  await server.put('exports');
  for (let i = 0; i < 6; ++i) await server.fail('invoices', { message: 'no route' });
  const items = page.locator('[data-attention]');
  await expect(page.locator('[data-attention="failing invoices"]')).toContainText('100% of the tasks that ended in the last minute failed without a retry');
  await expect(page.locator('[data-attention="paused imports"]')).toContainText('paused; 7 tasks wait');
  await expect(page.locator('[data-attention="never_asked exports"]')).toContainText('no worker yet; 1 task is ready');
  await expect(row_of(page, 'imports').locator('[data-condition]')).toHaveText(/^paused for (9|10)\sm/);
  // The server looks every ten seconds.
  await expect(page.locator('[data-attention="dead_growing invoices"]')).toContainText('6 more dead letters in 5 minutes', { timeout: 25_000 });
  await expect(items.first()).toContainText('invoices'); // problems before notes
  await expect(items.last()).toContainText('imports');
  await page.getByRole('link', { name: '6 more dead letters in 5 minutes' }).click();
  await expect(page).toHaveURL(`${server.url}/dead?queue=invoices`);
  await page.goBack();
  await server.must('POST', '/v1/queues/imports/resume');
  await expect(page.locator('[data-attention="paused imports"]')).toHaveCount(0);
});

test.describe('alerts of the server', () => {
  test.use({ flags: ['--alerts-depth', '5'] });
  test('a deep queue is told of, with a link to what waits', async ({ page, server }) => {
    await server.put_many('emails', 6);
    await page.goto(server.url);
    const item = page.locator('[data-attention="queue_deep emails"]');
    await expect(item).toContainText('6 tasks wait', { timeout: 25_000 });
    await item.getByRole('link', { name: '6 tasks wait' }).click();
    await expect(page).toHaveURL(`${server.url}/tasks?queue=emails&state=queued`);
  });
});

test('queues are found, put in order, and walked by keyboard', async ({ page, server }) => {
  for (let i = 0; i < 12; ++i) await server.put_many(`q${String(i).padStart(2, '0')}`, ((i * 7) % 12) + 1);
  await page.goto(server.url);
  const names = page.locator('tbody a.name');
  await expect(names).toHaveCount(12);
  await expect(names.first()).toHaveText('q00');
  await page.getByRole('button', { name: 'Ready', exact: true }).click();
  await expect(page).toHaveURL(`${server.url}/?sort=-ready`);
  await expect(names.first()).toHaveText('q05');
  await expect(page.getByRole('columnheader', { name: 'Ready' })).toHaveAttribute('aria-sort', 'descending');
  await page.reload();
  await expect(names.first()).toHaveText('q05');
  await page.getByRole('button', { name: 'Ready', exact: true }).click();
  await expect(names.first()).toHaveText('q00');
  await page.keyboard.press('j');
  await page.keyboard.press('j');
  await expect(names.nth(1)).toBeFocused();
  await page.keyboard.press('k');
  await expect(names.first()).toBeFocused();
  await page.keyboard.press('/');
  await expect(page.getByLabel('Filter queues')).toBeFocused();
  await page.keyboard.type('Q1');
  await expect(names).toHaveText(['q11', 'q10']); // still in order
  await page.keyboard.type('x');
  await expect(page.getByText('No queue has “Q1x” in its name.')).toBeVisible();
});

test('many queues are shown in part, and all of them when asked for', async ({ page, server }) => {
  const tasks = Array.from({ length: 40 }, (_, i) => ({ queue: `q${String(i).padStart(2, '0')}` }));
  await server.must('POST', '/v1/tasks', tasks);
  await page.goto(server.url);
  await expect(page.locator('[data-queue]')).toHaveCount(30);
  await page.getByRole('button', { name: 'Show all 40 queues' }).click();
  await expect(page.locator('[data-queue]')).toHaveCount(40);
});

test('the past is drawn, of an hour and of a day', async ({ page, server }) => {
  await server.put_many('emails', 50);
  for (const task of await server.take('emails', 20)) await server.settle(task, { outcome: 'done' });
  await page.goto(server.url);
  await expect(page.locator('[data-sum]')).toContainText('50 put, 20 completed, 0 failed.');
  const flow = page.getByRole('img', { name: /^Tasks per minute: Put (50|0), Completed (20|0),/ });
  await expect(flow.locator('canvas')).toBeVisible();
  await expect(page.getByRole('img', { name: 'Waiting and running: Waiting 30, Running 0' })).toBeVisible();
  await page.getByRole('button', { name: 'Day', exact: true }).click();
  await expect(page).toHaveURL(`${server.url}/?range=day`);
  await expect(page.getByRole('img', { name: /^Tasks per hour: Put 50, Completed 20/ }).locator('canvas')).toBeVisible();
  // Something is drawn in the colour of completed tasks.
  const drawn = await page.locator('figure canvas').first().evaluate((canvas: HTMLCanvasElement) => {
    const pixels = canvas.getContext('2d')?.getImageData(0, 0, canvas.width, canvas.height).data ?? [];
    let colours = 0;
    for (let i = 0; i < pixels.length; i += 4) if ((pixels[i + 3] ?? 0) > 200 && (pixels[i + 1] ?? 0) > (pixels[i] ?? 0) + 60) ++colours;
    return colours;
  });
  expect(drawn).toBeGreaterThan(20);
});

test('a key for some queues sees those, and charts of those', async ({ page, server, complaints }) => {
  const admin = await server.make_key('ops', ['admin']);
  server.key = admin.secret;
  const confined = await server.make_key('shop', ['read'], ['shop*']);
  await server.put_many('shop', 2);
  await server.put_many('shop-2', 3);
  await server.put_many('emails', 30);
  await server.take('emails', 1);
  await page.goto(server.url);
  await page.getByLabel('API key').fill(confined.secret);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await expect(row_of(page, 'shop')).toBeVisible();
  await expect(row_of(page, 'emails')).toHaveCount(0);
  await expect(page.locator('[data-sum]')).toContainText('5 put, 0 completed, 0 failed.');
  await expect(page.getByRole('img', { name: 'Waiting and running: Waiting 5, Running 0' })).toBeVisible();
  await page.getByRole('button', { name: 'Day', exact: true }).click();
  await expect(page.locator('[data-sum]')).toContainText('5 put, 0 completed, 0 failed.');
  forgive(complaints, /status of 401/); // none of 403
});

test.describe('on a phone', () => {
  test.use({ viewport: { width: 360, height: 740 } });
  for (const language of ['en', 'ru'] as const) {
    test(`nothing is wider than the screen in ${language}`, async ({ page, server }) => {
      await server.put_many('a-queue-with-a-long-name-that-nobody-would-type-twice.eu-central-1', 123_456 / 4);
      await server.fail('invoices', { message: 'no route' });
      await use_language(page, language);
      await page.goto(server.url);
      await expect(row_of(page, 'invoices')).toBeVisible();
      await expect(page.locator('figure canvas')).toHaveCount(3);
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(360);
      await expect_accessible(page);
    });
  }
});

for (const theme of themes) {
  test(`accessible in ${theme}, with all there is`, async ({ page, server }) => {
    await server.put_many('emails', 1200);
    await server.must('POST', '/v1/queues/emails/pause', { for_ms: 600_000 });
    for (let i = 0; i < 6; ++i) await server.fail('invoices', { message: 'no route' });
    await use_theme(page, theme);
    await page.goto(server.url);
    await expect(page.locator('[data-attention]').first()).toBeVisible();
    await expect(page.locator('figure canvas')).toHaveCount(3);
    await expect_accessible(page);
  });
}
