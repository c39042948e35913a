// A queue that is made on the overview, against the real server.
import { expect, expect_accessible, forgive, test, themes, use_language, use_theme } from './fixtures.ts';

test('a name is checked while it is typed; then the page of the queue opens', async ({ server, page }) => {
  await server.put('emails');
  await page.goto(server.url);
  await page.getByRole('button', { name: 'New queue' }).click();
  const dialog = page.getByRole('dialog');
  const name = dialog.getByLabel('Name');
  const told = dialog.getByRole('alert');
  await expect(told).toHaveCount(0);
  await name.fill('no such');
  await expect(told).toHaveText(/^A space is not allowed/);
  await expect(name).toHaveAttribute('aria-invalid', 'true');
  await name.fill('a/b');
  await expect(told).toHaveText(/^“\/” is not allowed/);
  await name.fill('q'.repeat(101));
  await expect(told).toHaveText('100 bytes at most.');
  await name.fill('emails');
  await expect(told).toHaveText('There is a queue emails already.');
  await name.fill('');
  await dialog.getByRole('button', { name: 'Create' }).click();
  await expect(told).toHaveText('This field is required.');
  await expect(name).toBeFocused();
  await name.fill('shop.invoices');
  await dialog.getByRole('button', { name: 'Create' }).click();
  await expect(page).toHaveURL(`${server.url}/queues/shop.invoices`);
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('shop.invoices');
});

test('with settings, which are checked as those of the queue are', async ({ server, page }) => {
  await page.goto(server.url);
  await page.getByRole('button', { name: 'New queue' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name').fill('payments');
  await dialog.getByLabel('Description').fill('Charges and refunds');
  await dialog.locator('.field').nth(2).getByRole('textbox').fill('0');
  await expect(dialog.getByRole('alert')).toHaveText('A whole number from 1 on. Or: unlimited.');
  await dialog.locator('.field').nth(2).getByRole('textbox').fill('4');
  await dialog.locator('.field').nth(3).getByRole('textbox').fill('fast');
  await expect(dialog.getByRole('alert')).toHaveText(/such as 100\/1s/);
  await dialog.locator('.field').nth(3).getByRole('textbox').fill('100/s');
  await dialog.getByLabel('Retries').fill('7');
  await dialog.getByRole('button', { name: 'Create' }).click();
  await expect(page).toHaveURL(`${server.url}/queues/payments`);
  expect(await server.must('GET', '/v1/queues/payments')).toMatchObject({
    ...{ description: 'Charges and refunds', max_concurrent: 4, process_rate: { max: 100, per_ms: 1000 }, retry: { max_retries: 7 } },
  });
});

test.describe('where there may be no more queues', () => {
  test.use({ flags: ['--queues-max-queues', '1'] });
  test('the server says so', async ({ server, page, complaints }) => {
    await server.put('emails');
    await page.goto(server.url);
    await page.getByRole('button', { name: 'New queue' }).click();
    await page.getByRole('dialog').getByLabel('Name').fill('another');
    await page.getByRole('dialog').getByRole('button', { name: 'Create' }).click();
    await expect(page.getByRole('dialog').getByRole('alert')).toContainText('queues.max_queues');
    forgive(complaints, /409/);
  });
});

for (const theme of themes) {
  test(`accessible in the ${theme} theme, in Russian, on a phone`, async ({ server, page }) => {
    await use_theme(page, theme);
    await use_language(page, 'ru');
    await page.setViewportSize({ width: 360, height: 800 });
    await page.goto(server.url);
    await page.getByRole('button', { name: 'Новая очередь' }).click();
    await page.getByLabel('Имя').fill('нет');
    await expect(page.getByRole('alert')).toHaveText(/«н» здесь нельзя/);
    await expect_accessible(page);
    expect(await page.getByRole('dialog').evaluate((dialog) => dialog.scrollWidth <= dialog.clientWidth)).toBe(true);
  });
}
