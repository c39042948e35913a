// What a queue says of its groups, and what tasks bring: its settings, the forms of tasks, the gates.
import type { Locator, Page, Request } from '@playwright/test';
import { expect, expect_accessible, test } from './fixtures.ts';
import type { Server } from './server.ts';

const row = (page: Page, group: string): Locator => page.locator(`[data-of-group="${group}"]`);
const box = (page: Page, label: string): Locator => page.getByRole('dialog').getByLabel(label, { exact: true });
const alert_of = (page: Page, field: string): Locator => page.locator(`[data-field="${field}"]`).getByRole('alert');
const field = (page: Page, label: string): Locator => page.getByRole('form', { name: 'Settings' }).getByLabel(label, { exact: true });
const rules_of = async (server: Server): Promise<unknown> => (await server.must('GET', '/v1/queues/emails')).groups;

// What is sent by it.
async function sent_by(page: Page, method: string, doing: () => Promise<void>): Promise<Request> {
  const [request] = await Promise.all([page.waitForRequest((one) => one.method() === method), doing()]);
  return request;
}

test('rules are switched on, changed and switched off in the settings', async ({ server, page }) => {
  await server.must('POST', '/v1/queues', { name: 'emails' });
  await page.goto(`${server.url}/queues/emails`);
  const shown = (name: string) => page.locator(`[data-setting="${name}"]`);
  await expect(shown('groups.order')).toHaveText('no rules');
  await expect(shown('groups.max_concurrent')).toHaveCount(0);
  const edit = page.getByRole('button', { name: 'Edit', exact: true });
  const save = page.getByRole('button', { name: 'Save' });
  await edit.click();
  const order = field(page, 'Order');
  await expect(page.getByText('Groups have neither limits nor turns.')).toBeVisible();
  await expect(field(page, 'Running at once, of each group')).toHaveCount(0);
  for (const [name, said] of [
    ['by arrival', /the task that would be next without groups/i],
    ['in turns', /one that puts many tasks does not delay the others/],
    ['one at a time', /runs one task at a time, in the order in which they were put/],
  ] as const) {
    await order.selectOption(name);
    await expect(page.locator('[data-field="groups.order"]').getByRole('status')).toHaveText(said);
    await expect(field(page, 'Weight of a group')).toHaveCount(name === 'in turns' ? 1 : 0);
    await expect(field(page, 'Retries hold up their group')).toHaveCount(name === 'one at a time' ? 1 : 0);
  }
  // One at a time, and a limit of two: not both.
  await field(page, 'Running at once, of each group').fill('2');
  await expect(alert_of(page, 'groups.max_concurrent')).toHaveText(/In the order “one at a time” a group runs one task/);
  await expect(save).toBeDisabled();
  await order.selectOption('in turns');
  await expect(alert_of(page, 'groups.max_concurrent')).toHaveCount(0);
  await field(page, 'Weight of a group').fill('0');
  await expect(alert_of(page, 'groups.weight')).toHaveText(/from 1 to 1,000/);
  await field(page, 'Weight of a group').fill('3');
  await expect(field(page, 'Starts of a group are counted by')).toHaveCount(0);
  await field(page, 'Starts, of each group').fill('100/1m');
  await field(page, 'Starts of a group are counted by').selectOption('cost');
  await expect_accessible(page);
  const groups = { order: 'fair', max_concurrent: 2, process_rate: { max: 100, per_ms: 60_000 }, rate_of: 'cost', weight: 3 };
  expect((await sent_by(page, 'PATCH', () => save.click())).postDataJSON()).toEqual({ groups });
  await expect(shown('groups.order')).toHaveText('in turns');
  await expect(shown('groups.process_rate')).toHaveText(/^100 per 1\sm$/);
  expect(await rules_of(server)).toMatchObject(groups);
  // A change of one leaves the others.
  await edit.click();
  await field(page, 'Waiting, of each group').fill('500');
  expect((await sent_by(page, 'PATCH', () => save.click())).postDataJSON()).toEqual({ groups: { max_depth: 500 } });
  await expect(shown('groups.max_depth')).toHaveText('500');
  // Off: all of them, whatever else was typed.
  await edit.click();
  await field(page, 'Waiting, of each group').fill('none');
  await order.selectOption('default: no rules');
  await expect(page.getByText('All that single groups do differently ends with the rules.')).toBeVisible();
  await expect(page.getByText('1 change', { exact: true })).toBeVisible();
  expect((await sent_by(page, 'PATCH', () => save.click())).postDataJSON()).toEqual({ groups: null });
  await expect(shown('groups.order')).toHaveText('no rules');
  expect(await rules_of(server)).toBeUndefined();
});

test('the rate of a queue counts costs, where it has one', async ({ server, page }) => {
  await server.must('POST', '/v1/queues', { name: 'emails' });
  await page.goto(`${server.url}/queues/emails`);
  await page.getByRole('button', { name: 'Edit', exact: true }).click();
  await expect(field(page, 'Starts are counted by')).toHaveCount(0);
  await field(page, 'Most starts').fill('100000/1m');
  await field(page, 'Starts are counted by').selectOption('cost');
  const sent = await sent_by(page, 'PATCH', () => page.getByRole('button', { name: 'Save' }).click());
  expect(sent.postDataJSON()).toEqual({ process_rate: { max: 100_000, per_ms: 60_000 }, rate_of: 'cost' });
  await expect(page.locator('[data-setting="rate_of"]')).toHaveText('cost');
});

test('a task is put with a group and a cost, and shows them', async ({ server, page }) => {
  await server.must('POST', '/v1/queues', { name: 'emails' });
  await page.goto(`${server.url}/queues/emails`);
  await page.getByRole('button', { name: 'New task…' }).click();
  await page.getByRole('dialog').getByText('More settings').click();
  const told = page.getByRole('dialog').locator('.field', { has: page.getByLabel('Cost', { exact: true }) }).getByRole('alert');
  await expect(box(page, 'Cost')).toHaveAttribute('placeholder', '1');
  for (const text of ['-1', '1.5', '4294967296']) {
    await box(page, 'Cost').fill(text);
    await expect(told).toHaveText('A whole number from 0 to 4,294,967,295.');
    await expect(page.getByRole('button', { name: 'Put', exact: true })).toBeDisabled();
  }
  await box(page, 'Cost').fill('1500');
  await box(page, 'Group').fill('acme');
  const sent = await sent_by(page, 'POST', () => page.getByRole('button', { name: 'Put', exact: true }).click());
  expect(sent.postDataJSON()).toMatchObject({ queue: 'emails', group: 'acme', cost: 1500 });
  await page.getByRole('link', { name: 'Open it' }).click();
  await expect(page.locator('dt', { hasText: /^Cost$/ }).locator('+ dd')).toHaveText('1,500');
  await expect(page.locator('dt', { hasText: /^Group$/ }).locator('+ dd')).toHaveText('acme');
});

test('the gates of a group are told, and lead to it', async ({ server, page }) => {
  await server.must('POST', '/v1/queues', { name: 'emails', groups: { order: 'arrival' } });
  const id = await server.put('emails', { group: 'acme' });
  let gate: object = {};
  await page.route('**/explain', (route) => route.fulfill({ json: { id, state: 'queued', sentence: '', ...gate } }));
  const until = new Date(Date.now() + 600_000).toISOString();
  for (const [said, told] of [
    [{ gate: 'group_paused', until: 'never' }, 'Its group acme is paused until it is resumed.'],
    [{ gate: 'group_paused', until }, /^Its group acme is paused until .*: for another (10\sm|9\sm \d+\ss)\.$/],
    [{ gate: 'group_serial' }, 'Its group acme runs one task at a time, and another one runs or was put earlier.'],
    [{ gate: 'group_concurrency' }, 'Its group acme has reached its limit of running tasks.'],
    [{ gate: 'group_rate', until }, /^Its group acme has reached its rate limit; more may start in (10\sm|9\sm \d+\ss)\.$/],
  ] as const) {
    gate = said;
    await page.goto(`${server.url}/tasks/${id}`);
    await expect(page.locator('[data-gate]')).toHaveText(told);
  }
  await page.getByRole('link', { name: 'To the group acme' }).click();
  await expect(page).toHaveURL(`${server.url}/queues/emails?group=acme`);
  await expect(row(page, 'acme')).toBeInViewport();
});

test('the gate of a full group comes from the server', async ({ server, page }) => {
  await server.must('POST', '/v1/queues', { name: 'emails', groups: { order: 'arrival', max_concurrent: 1 } });
  await server.put('emails', { group: 'acme' });
  await server.take('emails');
  const id = await server.put('emails', { group: 'acme' });
  await page.goto(`${server.url}/tasks/${id}`);
  await expect(page.locator('[data-gate]')).toHaveAttribute('data-gate', 'group_concurrency');
});
