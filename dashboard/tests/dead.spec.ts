// Dead letters in groups: seen, retried and removed by group.
import { expect, test } from './fixtures.ts';
import type { Server } from './server.ts';

async function kill(server: Server, queue: string, type: string, count: number, message: (i: number) => string): Promise<void> {
  await server.put_many(queue, count, { type });
  const taken = await server.take(queue, count);
  const settle = taken.map(({ id, token }, i) => ({ id, token, outcome: 'failed', retryable: false, error: { code: 'exit_1', message: message(i) } }));
  await server.must('POST', '/v1/work', { settle });
}

const refused = (i: number) => `connection refused by 10.0.0.${i % 250}:5432`;

test('those that died of the same are one group, with samples', async ({ page, server }) => {
  await kill(server, 'emails', 'welcome', 312, refused);
  await kill(server, 'emails', 'receipt', 5, () => 'no template <b>receipt</b>');
  await page.goto(`${server.url}/dead`);
  await expect(page.getByText('317 dead letters in 2 groups')).toBeVisible();
  const group = page.locator('[data-group]').first();
  await expect(group.getByRole('button', { name: 'connection refused by #' })).toBeVisible();
  await expect(group.getByRole('button', { name: 'Retry 312' })).toBeVisible();
  await group.getByRole('button', { name: 'connection refused by #' }).click();
  await expect(group.getByText('connection refused by 10.0.0.61:5432')).toBeVisible();
  const sample = group.locator('.samples a').first();
  await sample.click();
  await expect(page).toHaveURL(/\/tasks\/[0-9a-f-]{36}$/);
  await page.goBack();
  // What others wrote is text.
  await expect(page.getByText('no template <b>receipt</b>')).toBeVisible();
});

test('samples show the beginning of their payloads', async ({ page, server }) => {
  const id = await server.fail('emails', { message: 'mailbox full' }, { payload: { to: 'ann@example.org' } });
  await server.put('emails', { payload: { to: 'bob@example.org' } });
  await page.goto(`${server.url}/dead`);
  await page.getByRole('button', { name: 'mailbox full' }).click();
  await expect(page.locator('.samples li', { has: page.locator(`a[title="${id}"]`) })).toContainText('{"to":"ann@example.org"}');
});

test('a group is retried after the fix, and nothing else is', async ({ page, server }) => {
  await kill(server, 'emails', 'welcome', 312, refused);
  await kill(server, 'emails', 'welcome', 4, () => 'mailbox full');
  await page.goto(`${server.url}/dead`);
  await page.getByRole('button', { name: 'Retry 312' }).click();
  await page.getByRole('button', { name: 'Retry them' }).click();
  await expect(page.getByText('Done: 312 tasks')).toBeVisible();
  await expect(page.locator('[data-group]')).toHaveCount(1);
  await expect(page.getByRole('button', { name: 'mailbox full' })).toBeVisible();
  const stats = await server.must('GET', '/v1/queues/emails/stats');
  expect(stats.states).toMatchObject({ queued: 312, failed: 4 });
});

test('what ends before it is seen is told of, too', async ({ page, server }) => {
  await kill(server, 'emails', 'welcome', 3, refused);
  await page.goto(`${server.url}/dead`);
  await page.getByRole('button', { name: 'Retry 3' }).click();
  await page.route('**/v1/bulk', async (route) => {
    if (route.request().method() === 'GET') await expect.poll(async () => (await server.must('GET', '/v1/bulk')).operations[0].state).toBe('completed');
    await route.continue();
  });
  await page.getByRole('button', { name: 'Retry them' }).click();
  await expect(page.getByText('Done: 3 tasks')).toBeVisible();
  await expect(page.getByRole('heading', { name: 'No dead letters' })).toBeVisible();
});

test('a group is removed, once it is confirmed', async ({ page, server }) => {
  await kill(server, 'emails', 'welcome', 3, refused);
  await kill(server, 'reports', '', 2, () => 'no month 13');
  await page.goto(`${server.url}/dead`);
  await page.getByRole('button', { name: 'Remove these 2' }).click();
  await page.getByRole('button', { name: 'Cancel' }).click();
  await expect(page.locator('[data-group]')).toHaveCount(2);
  await page.getByRole('button', { name: 'Remove these 2' }).click();
  await page.getByRole('button', { name: 'Remove them' }).click();
  await expect(page.locator('[data-group]')).toHaveCount(1);
  expect((await server.must('GET', '/v1/queues/reports/stats')).total).toBe(0);
  expect((await server.must('GET', '/v1/queues/emails/stats')).states.failed).toBe(3);
});

test('a group leads to its tasks and to no others', async ({ page, server }) => {
  await kill(server, 'emails', 'welcome', 60, refused);
  await kill(server, 'emails', 'welcome', 4, () => 'mailbox full');
  await page.goto(`${server.url}/dead`);
  const group = page.locator('[data-group]').first();
  const key = await group.getAttribute('data-group');
  await group.getByRole('button', { name: 'connection refused by #' }).click();
  await group.getByRole('link', { name: 'Show these tasks' }).click();
  await expect(page).toHaveURL(new RegExp(`[?&]error_group=${key}`));
  await page.getByLabel('Select all on this page').check();
  await page.getByRole('button', { name: 'Select all that match' }).click();
  await page.locator('[data-action=retry]').click();
  await expect(page.getByRole('dialog').locator('[data-count="60"]')).toHaveText('60');
  await page.getByRole('dialog').getByRole('button', { name: 'Retry all' }).click();
  await expect(page.locator('[data-done="60"]')).toBeVisible();
  await page.getByRole('button', { name: `Error group: ${key?.slice(0, 8)}` }).click();
  await expect(page).not.toHaveURL(/error_group/);
  await page.getByRole('link', { name: 'All operations' }).click();
  await expect(page.locator('[data-operation]').first().getByRole('link', { name: 'Show tasks' })).toHaveAttribute('href', new RegExp(`error_group=${key}`));
});

test('filters are in the address, and all that is shown can be retried', async ({ page, server }) => {
  await kill(server, 'emails', 'welcome', 3, refused);
  await kill(server, 'reports', 'monthly', 2, () => 'no month 13');
  await page.goto(`${server.url}/dead`);
  await expect(page.locator('[data-group]')).toHaveCount(2);
  await page.getByLabel('Queue').selectOption('reports');
  await expect(page).toHaveURL(`${server.url}/dead?queue=reports`);
  await expect(page.locator('[data-group]')).toHaveCount(1);
  await page.reload();
  await expect(page.locator('[data-group]')).toHaveCount(1);
  await page.getByRole('button', { name: 'Retry all 2' }).click();
  await page.getByRole('button', { name: 'Retry them' }).click();
  await expect(page.getByRole('heading', { name: 'No dead letters match the filter' })).toBeVisible();
  expect((await server.must('GET', '/v1/queues/emails/stats')).states.failed).toBe(3);
  await page.getByLabel('Queue').selectOption('');
  await page.getByLabel('Type').fill('monthly');
  await expect(page).toHaveURL(`${server.url}/dead?type=monthly`);
  await expect(page.getByRole('heading', { name: 'No dead letters match the filter' })).toBeVisible();
});

test('another queue shows nothing of the one before', async ({ page, server }) => {
  await kill(server, 'emails', 'welcome', 3, refused);
  await kill(server, 'reports', 'monthly', 2, () => 'no month 13');
  await page.goto(`${server.url}/dead?queue=emails`);
  await expect(page.getByRole('button', { name: 'Retry all 3' })).toBeVisible();
  let go_on = () => {};
  const held = new Promise<void>((done) => (go_on = done));
  await page.route('**/v1/dead/groups?queue=reports', (route) => held.then(() => route.continue()));
  await page.getByLabel('Queue').selectOption('reports');
  await expect(page.locator('[data-group]')).toHaveCount(0);
  await expect(page.getByRole('button', { name: 'Remove all' })).toHaveCount(0);
  await expect(page.getByText('3 dead letters')).toHaveCount(0);
  go_on();
  await expect(page.getByRole('button', { name: 'Retry all 2' })).toBeVisible();
});

test('a question names the queue, says where counts are not exact, and wants a word before all are removed', async ({ page, server }) => {
  await kill(server, 'emails', 'welcome', 3, refused);
  await kill(server, 'reports', 'monthly', 2, () => 'no month 13');
  const dialog = page.getByRole('dialog');
  await page.goto(`${server.url}/dead`);
  await page.getByRole('button', { name: 'Remove all' }).click();
  await expect(dialog).toContainText('Remove 5 tasks permanently?');
  await expect(dialog).toContainText('In all queues.');
  await expect(dialog.getByRole('button', { name: 'Remove them' })).toBeDisabled();
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  await page.route('**/v1/dead/groups?*', async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, json: { ...(await response.json()), complete: false } });
  });
  await page.goto(`${server.url}/dead?queue=emails&type=welcome`);
  await page.getByRole('button', { name: 'Remove these ≥ 3' }).click();
  await expect(dialog).toContainText('Remove at least 3 tasks permanently?');
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('button', { name: 'Retry all ≥ 3' }).click();
  await expect(dialog).toContainText('Retry at least 3 tasks?');
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('button', { name: 'Remove all' }).click();
  await expect(dialog).toContainText('In the queue emails, of the type welcome.');
  await dialog.getByRole('textbox').fill('remove');
  await dialog.getByRole('button', { name: 'Remove them' }).click();
  await expect.poll(async () => (await server.must('GET', '/v1/queues/emails/stats')).total).toBe(0);
  expect((await server.must('GET', '/v1/queues/reports/stats')).states.failed).toBe(2);
  await page.unrouteAll({ behavior: 'ignoreErrors' });
});

test('how old the groups are is said where they are not of now', async ({ page, server }) => {
  await kill(server, 'emails', 'welcome', 3, refused);
  let behind = 0;
  await page.route('**/v1/dead/groups*', async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, json: { ...(await response.json()), as_of: new Date(Date.now() - behind).toISOString() } });
  });
  await page.goto(`${server.url}/dead`);
  await expect(page.getByText('3 dead letters in 1 group')).toBeVisible();
  await expect(page.locator('[data-as-of]')).toHaveCount(0);
  behind = 90_000;
  await expect(page.locator('[data-as-of]')).toHaveText(/^as of 1\sm 3\d\ss ago$/);
  await page.unrouteAll({ behavior: 'ignoreErrors' });
});

test('new ones show up without a reload; keys lead through the groups', async ({ page, server }) => {
  await page.goto(`${server.url}/dead`);
  await expect(page.getByRole('heading', { name: 'No dead letters' })).toBeVisible();
  await kill(server, 'emails', 'welcome', 2, refused);
  await kill(server, 'reports', '', 1, () => 'no month 13');
  await expect(page.locator('[data-group]')).toHaveCount(2, { timeout: 15_000 });
  await page.keyboard.press('j');
  await page.keyboard.press('j');
  await expect(page.getByRole('button', { name: 'no month #' })).toBeFocused();
  await page.keyboard.press('Enter');
  await expect(page.getByText('no month 13')).toBeVisible();
  await page.keyboard.press('k');
  await expect(page.getByRole('button', { name: 'connection refused by #' })).toBeFocused();
});

test('growing is said of groups to which several were added lately, and of no others', async ({ page, server }) => {
  await kill(server, 'emails', 'welcome', 9, refused);
  const minutes = (n: number) => new Date(Date.now() - n * 60_000).toISOString();
  const growing = page.locator('.growing');
  // When the first one died, and the newest three.
  const said = async (first: number, newest: number[]) => {
    await page.unrouteAll({ behavior: 'wait' });
    await page.route('**/v1/dead/groups*', async (route) => {
      const response = await route.fetch();
      const found = await response.json();
      const [group] = found.groups;
      const samples = newest.map((at, i) => ({ ...group.samples[i], failed_at: minutes(at) }));
      await route.fulfill({ response, json: { ...found, groups: [{ ...group, samples, first_at: minutes(first), last_at: minutes(newest[0] ?? 0) }] } });
    });
    await page.goto(`${server.url}/dead`);
    await expect(page.locator('[data-group]')).toBeVisible();
    return growing.count();
  };
  expect(await said(30, [0.5, 1.5, 4])).toBe(1);
  expect(await said(60, [0.5])).toBe(0); // one more
  expect(await said(60, [0.5, 20, 40])).toBe(0); // now and then
  expect(await said(0.6, [0.5, 0.5, 0.5])).toBe(0); // a burst
  expect(await said(60, [3, 3.5, 4])).toBe(0); // it is over
  await page.unrouteAll({ behavior: 'ignoreErrors' });
});
