// The form of a new task.
import type { Page } from '@playwright/test';
import { expect, expect_accessible, forgive, test } from './fixtures.ts';

const rows = (page: Page) => page.locator('tbody tr[data-task]');

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
    await dialog.getByText('More settings').click();
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
    await dialog.getByText('More settings').click();
    await dialog.getByLabel('Id', { exact: true }).fill('mine');
    await expect(dialog.getByRole('alert')).toContainText('“mine” is no id of a task');
    await expect(dialog.getByRole('button', { name: 'Put', exact: true })).toBeDisabled();
    await dialog.getByLabel('Id', { exact: true }).fill('');
    await dialog.getByLabel('Type').fill('two words');
    await dialog.getByRole('button', { name: 'Put', exact: true }).click();
    await expect(dialog.getByRole('alert')).toContainText('two words');
    forgive(complaints, /status of 4/);
  });

  test('that waits for others, and is kept as it says', async ({ page, server }) => {
    const first = await server.put('emails');
    await page.goto(`${server.url}/tasks?queue=emails`);
    await page.getByRole('button', { name: 'New task…' }).click();
    const dialog = page.getByRole('dialog');
    const told = (label: string) => dialog.locator('.field', { has: page.getByLabel(label, { exact: true }) }).getByRole('alert');
    await dialog.getByText('More settings').click();
    await expect(dialog.getByLabel('Runs once they')).toHaveCount(0);
    await dialog.getByLabel('Waits for', { exact: true }).fill(`${first}\nthat one`);
    await expect(told('Waits for')).toHaveText(/“that” is no id of a task/);
    await dialog.getByLabel('Waits for', { exact: true }).fill(`${first}, ${first}`);
    await expect(told('Waits for')).toHaveText(`${first} stands here twice.`);
    await dialog.getByLabel('Waits for', { exact: true }).fill(`${first}\n`);
    await dialog.getByLabel('Runs once they').selectOption('have ended in any way');
    await dialog.getByLabel('If one ends otherwise').selectOption('hold it');
    await dialog.getByLabel('Kept if completed').fill('soon');
    await expect(told('Kept if completed')).toHaveText(/A duration such as 30s/);
    await expect(dialog.getByRole('button', { name: 'Put', exact: true })).toBeDisabled();
    await dialog.getByLabel('Kept if completed').fill('0s');
    await dialog.getByLabel('Kept if failed or dead').fill('90d');
    await dialog.getByLabel('Retries').fill('unlimited');
    await dialog.getByLabel('Timeout of a run').fill('5m');
    await expect_accessible(page);
    await dialog.getByRole('button', { name: 'Put', exact: true }).click();
    await page.getByRole('link', { name: 'Open it' }).click();
    const facts = page.locator('section').filter({ has: page.getByRole('heading', { name: 'About this task' }) });
    await expect(facts).toContainText(/Kept if completed\s*not at all/);
    await expect(facts).toContainText(/Kept if failed or dead\s*90\sd/);
    const { tasks } = await server.must('GET', `/v1/tasks?waits_for=${first}&full=true`);
    expect(tasks[0]).toMatchObject({
      ...{ state: 'created', after: { tasks: [first], when: 'ended', otherwise: 'hold' }, timeout_ms: 300_000 },
      ...{ retry: { max_retries: 'unlimited' }, keep_completed: { for_ms: 0 }, keep_dead: { for_ms: 7_776_000_000 } },
    });
  });

  test('whose unique key is taken does what it says', async ({ page, server, complaints }) => {
    const id = await server.put('emails', { delay_ms: 3_600_000, unique: { key: 'k' }, payload: 1 });
    await page.goto(`${server.url}/tasks?queue=emails`);
    await page.getByRole('button', { name: 'New task…' }).click();
    const dialog = page.getByRole('dialog');
    const told = (label: string) => dialog.locator('.field', { has: page.getByLabel(label, { exact: true }) }).getByRole('alert');
    await dialog.getByLabel('Payload (JSON)').fill('2');
    await dialog.getByText('More settings').click();
    await expect(dialog.getByLabel('If the key is taken')).toHaveCount(0);
    await dialog.getByLabel('Unique key').fill('k');
    await expect(dialog.getByLabel('If the key is taken')).toHaveValue('keep');
    await dialog.getByLabel('If the key is taken').selectOption('postpone the waiting task');
    await expect(told('If the key is taken')).toContainText('give a delay');
    await dialog.getByLabel('Postponed at most').fill('2h');
    await dialog.getByLabel('Delay (s)').fill('5400');
    await expect(told('If the key is taken')).toHaveCount(0);
    await dialog.getByLabel('Waits for', { exact: true }).fill(id);
    await expect(told('If the key is taken')).toContainText('cannot replace or postpone');
    await dialog.getByLabel('Waits for', { exact: true }).fill('');
    await dialog.getByRole('button', { name: 'Put', exact: true }).click();
    await expect(page.getByText('The waiting task has got what you typed')).toBeVisible();
    expect(await server.must('GET', `/v1/tasks/${id}`)).toMatchObject({ payload: 2, unique: { key: 'k' } });

    // What only the server knows is told where it was typed.
    await page.getByRole('button', { name: 'New task…' }).click();
    await dialog.getByText('More settings').click();
    await dialog.getByLabel('Waits for', { exact: true }).fill('01890a5d-ac96-774b-bcce-b302099a8057');
    await dialog.getByRole('button', { name: 'Put', exact: true }).click();
    await expect(told('Waits for')).toContainText('01890a5d-ac96-774b-bcce-b302099a8057');
    forgive(complaints, /status of 4/);
  });
});
