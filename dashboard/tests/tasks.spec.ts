// The page of tasks: filters in the address, pages, selection, what matches in bulk, keys.
import { absence, expect, expect_accessible, forgive, test, themes, use_language, use_theme } from './fixtures.ts';
import type { Page, Request } from '@playwright/test';
import type { Server } from './server.ts';

const rows = (page: Page) => page.locator('tbody tr[data-task]');
const row = (page: Page, id: string) => page.locator(`tr[data-task="${id}"]`);

async function states(server: Server, query: string): Promise<string[]> {
  const { tasks } = await server.must('GET', `/v1/tasks?${query}`);
  return tasks.map((task: { state: string }) => task.state);
}

test('filters live in the address, which can be passed on', async ({ page, server, context }) => {
  const welcome = await server.put('emails', { type: 'welcome', tags: ['vip'], client_id: 'shop' });
  await server.put('emails', { type: 'receipt' });
  await server.put('images', { type: 'resize' });
  const dead = await server.fail('invoices', { code: 'smtp', message: 'no route' }, { type: 'bill' });
  await page.goto(`${server.url}/tasks`);
  await expect(rows(page)).toHaveCount(4);
  await expect(page.locator('[data-total]')).toHaveText('4 tasks');

  await page.getByLabel('Queue', { exact: true }).fill('emails');
  await expect(rows(page)).toHaveCount(2);
  await expect(page).toHaveURL(/queue=emails/);
  await page.getByLabel('Type', { exact: true }).fill('welcome');
  await expect(rows(page)).toHaveCount(1);
  await expect(row(page, welcome)).toBeVisible();
  await page.getByRole('button', { name: 'More filters' }).click();
  await page.getByLabel('Tag').fill('vip');
  await page.getByLabel('Client').fill('shop');
  await expect(page).toHaveURL(/tag=vip.*client_id=shop/);

  const other = await context.newPage();
  await other.goto(page.url());
  await expect(rows(other)).toHaveCount(1);
  await expect(other.getByLabel('Tag')).toHaveValue('vip');
  await other.getByLabel('Tag').fill('nobody');
  await expect(other.getByRole('heading', { name: 'No task matches' })).toBeVisible();
  await other.getByRole('search').getByRole('button', { name: 'Clear filters' }).click();
  await expect(rows(other)).toHaveCount(4);
  await expect(other).toHaveURL(`${server.url}/tasks`);

  await other.locator('[data-chip=failed]').click();
  await expect(rows(other)).toHaveCount(1);
  await expect(row(other, dead)).toContainText('smtp: no route');
  await other.locator('[data-chip=dead]').click();
  await expect(other).toHaveURL(/state=failed%2Cdead/);
  await other.goto(`${server.url}/tasks?error_code=smtp`);
  await expect(rows(other)).toHaveCount(1);
});

test('by when they were created', async ({ page, server }) => {
  await server.put('emails');
  await page.goto(`${server.url}/tasks`);
  await page.getByLabel('Created').selectOption('1h');
  await expect(page).toHaveURL(/within=1h/);
  await expect(rows(page)).toHaveCount(1);
  await page.getByLabel('Created').selectOption('own');
  await page.getByLabel('From').fill('2000-01-01T00:00');
  await page.getByLabel('Until').fill('2000-01-02T00:00');
  await page.getByLabel('Until').blur();
  await expect(page).toHaveURL(/until=2000-01-01T23%3A00%3A00/); // of Berlin, as UTC
  await expect(page.getByRole('heading', { name: 'No task matches' })).toBeVisible();
});

test('finds a text in payloads among many tasks, and says how far it came', async ({ page, server }) => {
  const needle = await server.put('emails', { payload: { to: 'Ёжик@example.org' } });
  await server.put_many('emails', 1200);
  await page.goto(`${server.url}/tasks`);
  await expect(rows(page)).toHaveCount(50);
  await page.keyboard.press('/');
  await page.keyboard.type('ёжик@');
  await expect(rows(page)).toHaveCount(1);
  await expect(row(page, needle)).toBeVisible();
  await expect(page).toHaveURL(/text=/);
});

test('looking far can be stopped and gone on with', async ({ page, server }) => {
  const old = await server.put('emails', { type: 'old' });
  await server.put_many('emails', 2000);
  // Slow, so that there is time to stop it.
  await page.route('**/v1/tasks?*text=*', async (route) => {
    await new Promise((done) => setTimeout(done, 400));
    await route.continue();
  });
  await page.goto(`${server.url}/tasks?text=old`);
  await page.getByRole('button', { name: 'Stop' }).click();
  await expect(page.getByText(/^Looked at the newest [\d,]+ tasks so far/)).toBeVisible();
  await expect(rows(page)).toHaveCount(0);
  await page.getByRole('button', { name: 'Continue' }).click();
  await expect(row(page, old)).toBeVisible();
});

test('pages are turned by cursor, forth and back, also by the browser', async ({ page, server }) => {
  await server.must('POST', '/v1/tasks', Array.from({ length: 120 }, (_, i) => ({ queue: 'emails', type: `t${i}` })));
  await page.goto(`${server.url}/tasks?queue=emails`);
  await expect(rows(page)).toHaveCount(50);
  await expect(rows(page).first()).toContainText('t119');
  await page.getByRole('button', { name: 'Older' }).click();
  await expect(rows(page).first()).toContainText('t69');
  await expect(page).toHaveURL(/cursor=\d+/);
  await page.keyboard.press('n');
  await expect(rows(page)).toHaveCount(20);
  await expect(page.getByRole('button', { name: 'Older' })).toBeDisabled();
  await page.goBack();
  await expect(rows(page).first()).toContainText('t69');
  await page.keyboard.press('p');
  await expect(rows(page).first()).toContainText('t119');
  await expect(page).not.toHaveURL(/cursor/);
  // An address from elsewhere has no page before it, but it has the newest.
  await page.goto(`${server.url}/tasks?queue=emails&cursor=21`);
  await expect(rows(page)).toHaveCount(20);
  await expect(page.getByRole('button', { name: 'Newer' })).toHaveCount(0);
  await page.getByRole('button', { name: 'Newest' }).click();
  await expect(rows(page).first()).toContainText('t119');
});

test('some are selected and retried, after a question', async ({ page, server }) => {
  const ids: string[] = [];
  for (let i = 0; i < 3; ++i) ids.push(await server.fail('emails', { message: `no route ${i}` }));
  const waiting = await server.put('images');
  await page.goto(`${server.url}/tasks`);
  await page.getByLabel(`Select ${ids[0]}`).check();
  await page.getByLabel(`Select ${ids[2]}`).check();
  await page.getByLabel(`Select ${waiting}`).check();
  await expect(page.getByText('3 selected')).toBeVisible();
  await page.locator('[data-action=retry]').click();
  const dialog = page.getByRole('dialog');
  await expect(dialog).toContainText('Retry 2 tasks?');
  await expect(dialog).toContainText('1 selected task is skipped');
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  expect((await states(server, 'queue=emails&state=failed')).length).toBe(3);
  await page.locator('[data-action=retry]').click();
  await dialog.getByRole('button', { name: 'Retry' }).click();
  await expect(page.getByText('2 tasks retried')).toBeVisible();
  await expect(row(page, ids[0] ?? '').locator('[data-state=queued]')).toBeVisible();
  await expect(row(page, ids[1] ?? '').locator('[data-state=failed]')).toBeVisible();
  expect((await states(server, 'queue=emails&state=queued')).length).toBe(2);
});

test('a range is selected with shift, and cancelled', async ({ page, server }) => {
  await server.put_many('emails', 10);
  await page.goto(`${server.url}/tasks`);
  await rows(page).nth(1).getByRole('checkbox').click();
  await rows(page).nth(4).getByRole('checkbox').click({ modifiers: ['Shift'] });
  await expect(page.getByText('4 selected')).toBeVisible();
  await page.locator('[data-action=cancel]').click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: 'Do not cancel' }).click();
  await page.locator('[data-action=cancel]').click();
  await dialog.getByLabel('Reason (optional)').fill('sent twice');
  await dialog.getByRole('button', { name: 'Cancel tasks' }).click();
  await expect(page.getByText('4 tasks cancelled')).toBeVisible();
  const { tasks } = await server.must('GET', '/v1/tasks?queue=emails&state=cancelled');
  expect(tasks).toHaveLength(4);
  for (const task of tasks) expect(task.error.message).toContain('sent twice');
});

test('some are moved and get another priority', async ({ page, server }) => {
  await server.put_many('emails', 3, { priority: 3 });
  await server.must('POST', '/v1/queues', { name: 'slow' });
  await page.goto(`${server.url}/tasks?queue=emails`);
  const dialog = page.getByRole('dialog');
  await page.getByLabel('Select all on this page').check();
  await page.locator('[data-action=priority]').click();
  await expect(dialog).toContainText('Change the priority of 3 tasks');
  await dialog.getByLabel('Priority').selectOption('8');
  await dialog.getByRole('button', { name: 'Change priority' }).click();
  await expect(page.getByText('Priority of 3 tasks changed')).toBeVisible();
  await expect(rows(page).first().locator('.prio')).toHaveText('8');
  await rows(page).nth(0).getByRole('checkbox').check();
  await rows(page).nth(1).getByRole('checkbox').check();
  await page.locator('[data-action=move]').click();
  await expect(dialog.getByRole('button', { name: 'Move' })).toBeDisabled();
  await dialog.getByLabel('To queue').fill('slow');
  await dialog.getByRole('button', { name: 'Move' }).click();
  await expect(page.getByText('2 tasks moved')).toBeVisible();
  await expect(rows(page)).toHaveCount(1);
  const { tasks } = await server.must('GET', '/v1/tasks?queue=slow');
  expect(tasks.map((task: { priority: number }) => task.priority)).toEqual([8, 8]);
});

test('all that match are moved, and counted for the queue that is chosen', async ({ page, server }) => {
  await server.put_many('emails', 60, { type: 'news' });
  await server.put_many('slow', 5, { type: 'news' });
  await page.goto(`${server.url}/tasks?type=news`);
  await page.getByLabel('Select all on this page').check();
  await page.getByRole('button', { name: 'Select all that match' }).click();
  await page.locator('[data-action=move]').click();
  const dialog = page.getByRole('dialog');
  await expect(dialog.locator('[data-count]')).toHaveCount(0);
  await dialog.getByLabel('To queue').fill('slow');
  await expect(dialog.locator('[data-count="60"]')).toHaveText('60'); // not those that are there
  await dialog.getByRole('button', { name: 'Move all' }).click();
  await expect(page.locator('[data-done="60"]')).toBeVisible();
  expect((await server.must('GET', '/v1/queues/slow/stats')).total).toBe(65);
});

test('all that match are retried, with the progress of the operation', async ({ page, server }) => {
  await server.put_many('emails', 130, { payload: { to: 'ann' } });
  for (let done = 0; done < 120; ) {
    const tasks = await server.take('emails', 40);
    const settle = tasks.map((task) => ({ id: task.id, token: task.token, outcome: 'failed', retryable: false, error: { code: 'smtp', message: 'm' } }));
    await server.must('POST', '/v1/work', { worker: 'w', settle });
    done += tasks.length;
  }
  await page.goto(`${server.url}/tasks?queue=emails&state=failed`);
  await expect(page.locator('[data-total="120"]')).toBeVisible();
  await page.getByLabel('Select all on this page').check();
  await expect(page.getByText('50 selected')).toBeVisible();
  await page.getByRole('button', { name: 'Select all that match' }).click();
  await expect(page.getByText('All that match are selected')).toBeVisible();
  await expect(page.locator('[data-action=cancel]')).toBeDisabled();
  await page.locator('[data-action=retry]').click();
  await expect(page.getByRole('dialog').locator('[data-count="120"]')).toHaveText('120');
  await page.getByRole('dialog').getByRole('button', { name: 'Retry all' }).click();
  await expect(page.locator('[data-bulk=completed]')).toBeVisible();
  await expect(page.locator('[data-done="120"]')).toHaveText('120 done');
  await expect(page).toHaveURL(/bulk=/);
  await expect(page.getByRole('heading', { name: 'No task matches' })).toBeVisible();
  // The numbers above the list follow with it, not at their own pace.
  await expect(page.locator('[data-total="0"]')).toBeVisible({ timeout: 2000 });
  await expect(page.locator('[data-chip=failed]')).toContainText('0', { timeout: 500 });
  const { states: counts } = await server.must('GET', '/v1/queues/emails/stats');
  expect(counts.queued).toBe(130);
  await page.getByRole('button', { name: 'Close' }).click();
  await expect(page.locator('[data-bulk]')).toHaveCount(0);
});

test('all that match a text are removed only after the word is typed', async ({ page, server }) => {
  await server.put_many('emails', 60, { payload: { to: 'ann' } });
  await server.put_many('emails', 3, { payload: { to: 'bob' } });
  await page.goto(`${server.url}/tasks?queue=emails&text=ann`);
  await expect(rows(page)).toHaveCount(50);
  await page.getByLabel('Select all on this page').check();
  await page.getByRole('button', { name: 'Select all that match' }).click();
  await page.locator('[data-action=remove]').click();
  const dialog = page.getByRole('dialog');
  await expect(dialog.locator('[data-count="60"]')).toHaveText('60');
  await expect(dialog.getByRole('button', { name: 'Remove all' })).toBeDisabled();
  await dialog.getByRole('textbox').fill('remove');
  await dialog.getByRole('button', { name: 'Remove all' }).click();
  await expect(page.locator('[data-bulk=completed]')).toBeVisible();
  const { total } = await server.must('GET', '/v1/queues/emails/stats');
  expect(total).toBe(3);
});

test.describe('the count of all that match', () => {
  const begins = (one: Request) => one.method() === 'POST' && one.url().endsWith('/v1/bulk');
  const cancels = (one: Request) => /\/v1\/bulk\/[^/]+\/cancel$/.test(one.url());

  // The answer to the first request is held back.
  async function ask_slowly(page: Page, server: Server): Promise<() => void> {
    await server.put_many('emails', 60, { payload: { to: 'ann' } });
    await page.goto(`${server.url}/tasks?queue=emails`);
    await page.getByLabel('Select all on this page').check();
    await page.getByRole('button', { name: 'Select all that match' }).click();
    let go_on = () => {};
    const held = new Promise<void>((done) => (go_on = done));
    await page.route('**/v1/bulk', (route) => (begins(route.request()) ? held : Promise.resolve()).then(() => route.continue()));
    const begun = page.waitForRequest(begins);
    await page.locator('[data-action=cancel]').click();
    await begun;
    return go_on;
  }

  test('is given up with the question', async ({ page, server, complaints }) => {
    const go_on = await ask_slowly(page, server);
    await page.keyboard.press('Escape');
    await expect(page.getByRole('dialog')).toHaveCount(0);
    const cancelled = page.waitForRequest(cancels);
    go_on();
    await cancelled;
    forgive(complaints, /status of 409/);
  });

  test('ends with the filter that it is of', async ({ page, server, complaints }) => {
    (await ask_slowly(page, server))();
    await expect(page.getByRole('dialog').locator('[data-count="60"]')).toBeVisible();
    await page.evaluate(() => {
      history.replaceState(null, '', '/tasks?queue=emails&type=welcome');
      dispatchEvent(new PopStateEvent('popstate'));
    });
    await expect(page.getByRole('dialog')).toHaveCount(0);
    forgive(complaints, /status of 409/);
  });

  test('is given up before the action begins', async ({ page, server, complaints }) => {
    const go_on = await ask_slowly(page, server);
    const asked: string[] = [];
    page.on('request', (one) => {
      if (cancels(one)) asked.push('cancel');
      if (begins(one)) asked.push('begin');
    });
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel all' }).click();
    go_on();
    await expect(page.locator('[data-bulk=completed]')).toBeVisible();
    expect(asked).toEqual(['cancel', 'begin']);
    forgive(complaints, /status of 409/);
  });
});

test('the beginning of each payload is shown, as text', async ({ page, server }) => {
  const id = await server.put('emails', { payload: { to: 'ann', note: '\u202e<b>gnp</b>', rest: 'x'.repeat(400) } });
  const binary = await server.put('emails', { payload_base64: '/wAB' });
  await page.goto(`${server.url}/tasks`);
  const preview = row(page, id).locator('.preview');
  await expect(preview).toContainText('{"to":"ann","note":"\\u202e<b>gnp</b>"');
  expect(((await preview.textContent()) ?? '').length).toBeLessThan(220);
  const [inside, around] = [await preview.boundingBox(), await row(page, id).locator('.what').boundingBox()];
  expect(inside?.width ?? 0).toBeLessThanOrEqual(around?.width ?? 0);
  expect(inside?.height ?? 99).toBeLessThan(30); // one line
  await expect(row(page, binary).locator('.preview')).toHaveCount(0);
});

test.describe('a new task', () => {
  test('is put, and its payload is checked as one types', async ({ page, server }) => {
    await server.put('emails');
    await page.goto(`${server.url}/tasks?queue=emails`);
    await page.getByRole('button', { name: 'New task…' }).click();
    const dialog = page.getByRole('dialog');
    await expect(dialog.getByLabel('Queue')).toHaveValue('emails');
    await dialog.getByLabel('Payload (JSON)').fill('{"n":12345678901234567890');
    await expect(dialog.getByRole('alert')).toContainText('This is not JSON');
    await expect(dialog.getByRole('button', { name: 'Put', exact: true })).toBeDisabled();
    await dialog.getByLabel('Payload (JSON)').fill('{"n":12345678901234567890}');
    await dialog.getByLabel('Type').fill('welcome');
    await dialog.getByLabel('Priority').selectOption('7');
    await dialog.getByLabel('Delay (s)').fill('-1');
    await expect(dialog.getByRole('alert')).toContainText('0 or more');
    await dialog.getByLabel('Delay (s)').fill('3600');
    await dialog.getByText('Id and unique key').click();
    await dialog.getByLabel('Unique key').fill('k');
    await expect_accessible(page);
    await dialog.getByRole('button', { name: 'Put', exact: true }).click();
    await expect(page.getByText('The task is put')).toBeVisible();
    await expect(rows(page)).toHaveCount(2);
    await expect(rows(page).first()).toContainText('12345678901234567890');
    const { tasks } = await server.must('GET', '/v1/tasks?type=welcome&full=true');
    expect(tasks[0]).toMatchObject({ queue: 'emails', priority: 7, state: 'delayed', unique: { key: 'k' } });
    await page.getByRole('link', { name: 'Open it' }).click();
    await expect(page).toHaveURL(`${server.url}/tasks/${tasks[0].id}`);
  });

  test('that the server refuses stays in the form, with what is wrong', async ({ page, server, complaints }) => {
    await page.goto(`${server.url}/tasks`);
    await page.getByRole('button', { name: 'New task…' }).click();
    const dialog = page.getByRole('dialog');
    await expect(dialog.getByRole('button', { name: 'Put', exact: true })).toBeDisabled();
    await dialog.getByLabel('Queue').fill('emails');
    await dialog.getByText('Id and unique key').click();
    await dialog.getByLabel('Id', { exact: true }).fill('mine');
    await dialog.getByRole('button', { name: 'Put', exact: true }).click();
    await expect(dialog.getByRole('alert')).toContainText('mine');
    forgive(complaints, /status of 4/);
  });
});

test('a server that is gone is told of, ages stand still, and what fails for it says so', async ({ page, server, complaints }) => {
  await use_language(page, 'ru');
  await server.put_many('emails', 2);
  await page.goto(`${server.url}/tasks`);
  await rows(page).first().getByRole('checkbox').check();
  await server.stop();
  await expect(page.getByRole('alert')).toContainText('Сервер не отвечает');
  await expect(page.getByRole('alert')).toContainText('Показанное устарело на');
  const time = rows(page).first().locator('.time');
  const before = await time.textContent();
  await page.waitForTimeout(2500);
  expect(await time.textContent()).toBe(before);
  await page.locator('[data-action=remove]').click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: 'Удалить' }).click();
  await expect(dialog.getByRole('alert')).toContainText('Сервер не отвечает');
  await expect(page.getByText('Failed to fetch')).toHaveCount(0);
  await dialog.getByRole('button', { name: 'Отмена' }).click();
  await server.start();
  await page.getByRole('button', { name: 'Повторить' }).first().click();
  await expect(page.getByRole('alert')).toHaveCount(0);
  await expect(time).not.toHaveText(before ?? '');
  forgive(complaints, absence);
});

test.describe('what is said in passing covers nothing', () => {
  const toast = (page: Page) => page.locator('.toast');
  async function box(of: ReturnType<Page['locator']>): Promise<{ x: number; y: number; width: number; height: number }> {
    return (await of.boundingBox()) ?? { x: -1, y: -1, width: 0, height: 0 };
  }

  test('on a wide screen', async ({ page, server }) => {
    await server.put_many('emails', 60);
    await page.goto(`${server.url}/tasks`);
    await rows(page).first().getByRole('checkbox').check();
    await page.locator('[data-action=remove]').click();
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
    await expect(toast(page)).toBeVisible();
    await expect(toast(page)).toBeInViewport();
    const [said, main] = [await box(toast(page)), await box(page.getByRole('main'))];
    expect(said.x + said.width).toBeLessThanOrEqual(main.x);
  });

  test('on a narrow one, where bars at the bottom make room', async ({ page, server }) => {
    await page.setViewportSize({ width: 390, height: 800 });
    await server.put_many('emails', 60);
    await page.goto(`${server.url}/tasks`);
    await rows(page).first().getByRole('checkbox').check();
    await page.locator('[data-action=priority]').click();
    await page.getByRole('dialog').getByRole('button', { name: 'Change priority' }).click();
    await expect(toast(page)).toBeVisible();
    await rows(page).first().getByRole('checkbox').check();
    const [said, bar] = [await box(toast(page)), await box(page.getByRole('region', { name: '1 selected' }))];
    expect(bar.y + bar.height).toBeLessThanOrEqual(said.y);
    await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight));
    const paging = await box(page.getByRole('button', { name: 'Older' }));
    expect(paging.y + paging.height).toBeLessThanOrEqual((await box(toast(page))).y);
  });
});

test('the keyboard moves, selects and opens', async ({ page, server }) => {
  await server.put_many('emails', 3);
  await page.goto(`${server.url}/tasks`);
  await expect(rows(page)).toHaveCount(3);
  const second = (await rows(page).nth(1).getAttribute('data-task')) ?? '';
  await page.keyboard.press('j');
  await page.keyboard.press('j');
  await page.keyboard.press('j');
  await page.keyboard.press('k');
  await page.keyboard.press('x');
  await expect(page.getByLabel(`Select ${second}`)).toBeChecked();
  await page.keyboard.press('Escape');
  await expect(page.getByLabel(`Select ${second}`)).not.toBeChecked();
  await page.keyboard.press('Enter');
  await expect(page).toHaveURL(`${server.url}/tasks/${second}`);
});

test('rows change where they stand, and newer tasks are told of', async ({ page, server }) => {
  const id = await server.put('emails');
  await page.goto(`${server.url}/tasks`);
  await expect(row(page, id).locator('[data-state=queued]')).toBeVisible();
  const [task] = await server.take('emails');
  if (!task) throw new Error('nothing was taken');
  await expect(row(page, id).locator('[data-state=processing]')).toBeVisible();
  await server.settle(task, { outcome: 'done' });
  await server.put('emails');
  await expect(row(page, id).locator('[data-state=completed]')).toBeVisible();
  await expect(rows(page)).toHaveCount(1);
  await page.getByRole('button', { name: 'Show' }).click();
  await expect(rows(page)).toHaveCount(2);
});

test('an empty list fills itself when the first task comes', async ({ page, server }) => {
  await page.goto(`${server.url}/tasks`);
  await expect(page.getByRole('heading', { name: 'No tasks yet' })).toBeVisible();
  await server.put('emails');
  await expect(rows(page)).toHaveCount(1);
});

test('who may only read sees no way to act; a key for some queues chooses one', async ({ page, server }) => {
  await server.put('emails');
  await server.put('secrets');
  server.key = (await server.make_key('ops', ['admin'])).secret;
  const reader = await server.make_key('reader', ['read'], ['emails']);
  await page.goto(`${server.url}/tasks`);
  await page.getByLabel('API key').fill(reader.secret);
  await page.getByRole('main').getByRole('button', { name: 'Sign in' }).click();
  await expect(page.getByRole('heading', { name: 'Choose a queue' })).toBeVisible();
  await page.getByRole('button', { name: 'emails' }).click();
  await expect(rows(page)).toHaveCount(1);
  await expect(page.getByRole('checkbox')).toHaveCount(0);
  await rows(page).first().getByRole('link').first().click();
  await expect(page.getByRole('heading', { name: 'What happened' })).toBeVisible();
  for (const name of ['Remove', 'Cancel task', 'Put again…', 'New task…']) {
    await expect(page.getByRole('button', { name })).toHaveCount(0);
  }
});

test('a queue that is not there is told as such', async ({ page, server, complaints }) => {
  await server.put('emails');
  await page.goto(`${server.url}/tasks?queue=nowhere`);
  await expect(page.getByRole('alert')).toContainText('nowhere');
  forgive(complaints, /status of 404/);
});

for (const theme of themes) {
  test(`accessible in ${theme}, on a wide and on a narrow screen`, async ({ page, server }) => {
    await server.put_many('emails', 30, { type: 'welcome' });
    const id = await server.fail('invoices', { code: 'smtp', message: 'no route' });
    await server.put('images', { delay_ms: 3_600_000 });
    await use_theme(page, theme);
    await page.goto(`${server.url}/tasks`);
    await page.getByLabel(`Select ${id}`).check();
    await expect_accessible(page);
    await page.setViewportSize({ width: 360, height: 800 });
    await expect(row(page, id)).toBeVisible();
    await expect_accessible(page);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360);
  });
}

test('speaks Russian', async ({ page, server }) => {
  await server.put_many('emails', 2);
  await use_language(page, 'ru');
  await page.goto(`${server.url}/tasks`);
  await expect(page.locator('[data-total="2"]')).toHaveText('2 задачи');
  await rows(page).first().getByRole('checkbox').check();
  await page.locator('[data-action=remove]').click();
  await expect(page.getByRole('dialog')).toContainText('Удалить 1 задачу навсегда?');
});
