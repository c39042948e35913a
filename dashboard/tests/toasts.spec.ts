// What is said in passing covers nothing, and is seen in front of dialogs.
import type { Page } from '@playwright/test';
import { absence, expect, forgive, test } from './fixtures.ts';

const rows = (page: Page) => page.locator('tbody tr[data-task]');
const toast = (page: Page) => page.locator('.toast');

// Where things are at one moment: a toast does not stay.
function places(page: Page, ...selectors: string[]): Promise<DOMRect[]> {
  return page.evaluate((all) => all.map((one) => document.querySelector(one)?.getBoundingClientRect().toJSON() as DOMRect), selectors);
}

// With a task selected, so that its bar is there.
async function put_a_task(page: Page): Promise<void> {
  await rows(page).first().getByRole('checkbox').check();
  await page.getByRole('button', { name: 'New task…' }).click();
  await page.getByRole('dialog').getByLabel('Queue').fill('emails');
  await page.getByRole('dialog').getByRole('button', { name: 'Put', exact: true }).click();
  await expect(toast(page)).toBeInViewport();
}

test('on a wide screen it stands beside the page', async ({ page, server }) => {
  await server.put_many('emails', 60);
  await page.goto(`${server.url}/tasks`);
  await put_a_task(page);
  const [said, main] = await places(page, '.toast', 'main');
  expect(said?.right).toBeLessThanOrEqual(main?.left ?? 0);
});

test('on a narrow screen, bars at the bottom make room', async ({ page, server }) => {
  await page.setViewportSize({ width: 390, height: 800 });
  await server.put_many('emails', 60);
  await page.goto(`${server.url}/tasks`);
  await put_a_task(page);
  const [said, bar] = await places(page, '.toast', '[role=region]');
  expect(bar?.bottom).toBeLessThanOrEqual(said?.top ?? 0);
});

test('what fails in a dialog is said in front of it', async ({ page, server, complaints }) => {
  await server.must('POST', '/v1/queues', { name: 'emails' });
  await page.goto(`${server.url}/queues/emails`);
  await page.getByRole('button', { name: 'Pause…' }).click();
  await server.stop();
  await page.getByRole('dialog').getByRole('button', { name: 'Pause' }).click();
  await expect(toast(page)).toContainText('The server does not answer. Try again in a moment.');
  const box = await toast(page).boundingBox();
  const on_top = await page.evaluate(([x, y]) => document.elementFromPoint(x ?? 0, y ?? 0)?.closest('.toast') !== null, [(box?.x ?? 0) + 40, (box?.y ?? 0) + 10]);
  expect(on_top).toBe(true);
  forgive(complaints, absence);
});
