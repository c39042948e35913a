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
