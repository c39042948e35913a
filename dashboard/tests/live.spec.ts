// The stream of events: as it happens, and again after the server was away.
import { expect, forgive, test } from './fixtures.ts';

test('events come as they happen, and after a restart again', async ({ page, server, complaints }) => {
  await page.goto(`${server.url}/events`);
  await expect(page.locator('[data-live=live]')).toBeVisible();
  await server.put('emails', { type: 'welcome' });
  await expect(page.locator('[data-event=put]')).toHaveCount(1);
  await server.stop();
  await expect(page.locator('[data-live=waiting]')).toBeVisible();
  await server.start();
  await expect(page.locator('[data-live=live]')).toBeVisible({ timeout: 20_000 });
  await server.put('emails');
  await expect(page.locator('[data-event=put]')).toHaveCount(2);
  await page.getByRole('link', { name: 'Overview' }).click();
  await expect(page.locator('[data-live]')).toHaveCount(0);
  forgive(complaints, /ERR_CONNECTION|ERR_INCOMPLETE|ERR_EMPTY|status of 503/);
});
