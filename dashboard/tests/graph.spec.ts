// Tasks that wait for others, drawn on the page of a task.
import type { Page } from '@playwright/test';
import type { Graph } from '../src/api/types.ts';
import { layout_of } from '../src/pages/task/graph_layout.ts';
import { expect, expect_accessible, forgive, test, themes, use_language, use_theme } from './fixtures.ts';
import type { Server } from './server.ts';

// ---- Where tasks are drawn ----

const sizes = { along: 10, across: 4, gap_along: 2, gap_across: 1 };
const graph = (...ways: string[]): Graph => {
  const edges = ways.map((way) => way.split('>')).map(([from = '', to = '']) => ({ from, to, waits: true }));
  const ids = [...new Set(['self', ...edges.flatMap(({ from, to }) => [from, to])])];
  return { tasks: ids.map((id) => ({ id })), edges };
};
const layers = (of: Graph) => Object.fromEntries(layout_of(of, sizes).boxes.map(({ id, layer }) => [id, layer]));

test('a task is as far from this one as the longest way between them', () => {
  expect(layers(graph('a>b', 'b>self', 'a>self', 'c>self', 'self>d', 'd>e', 'self>e'))).toEqual({ a: -2, b: -1, c: -1, self: 0, d: 1, e: 2 });
  expect(layers(graph())).toEqual({ self: 0 });
  expect(layout_of({ tasks: [], edges: [] }, sizes).boxes).toEqual([]);
});

test('boxes of a layer do not overlap, and a long line has a place in each layer', () => {
  const made = layout_of(graph('a>b', 'b>c', 'c>self', 'a>self', ...Array.from({ length: 20 }, (_, i) => `p${i}>self`)), sizes);
  for (const one of made.boxes) {
    for (const other of made.boxes) {
      if (one !== other && one.layer === other.layer) expect(Math.abs(one.across - other.across)).toBeGreaterThanOrEqual(sizes.across);
    }
    expect(one.across).toBeGreaterThanOrEqual(sizes.across / 2 - 0.001);
    expect(one.across).toBeLessThanOrEqual(made.across - sizes.across / 2 + 0.001);
  }
  const long = made.lines.find(({ from, to }) => from === 'a' && to === 'self');
  expect(long?.points).toHaveLength(4);
  expect(made.along).toBe(4 * 10 + 3 * 2);
});

test('lines that need not cross do not', () => {
  const made = layout_of(graph('x>self', 'y>self', 'a>y', 'b>x'), sizes);
  const at = (id: string) => made.boxes.find((one) => one.id === id)?.across ?? NaN;
  expect(Math.sign(at('a') - at('b'))).toBe(Math.sign(at('y') - at('x')));
});

test('what is left out has a box, and a cycle is drawn somehow', () => {
  const { tasks, edges } = graph('a>self');
  const self = { id: 'self', more_parents: 940, waits_for: 1, more_children: 7 };
  const made = layout_of({ tasks: [self, ...tasks.slice(1)], edges }, sizes);
  expect(made.boxes.filter(({ more }) => more).map(({ more, layer }) => ({ ...more, layer }))).toEqual([
    { of: 'parents', count: 940, layer: -1 },
    { of: 'children', count: 7, layer: 1 },
  ]);
  // The one that is waited for is drawn, so none of the others is.
  expect(made.lines.find(({ from }) => from === 'more parents')?.waits).toBe(false);
  expect(layout_of(graph('a>b', 'b>a', 'a>self'), sizes).boxes).toHaveLength(3);
});

// ---- On the page ----

const card = (page: Page) => page.locator('section').filter({ has: page.getByRole('heading', { name: 'Graph of tasks', exact: true }) });
const node = (page: Page, id: string) => page.locator(`[data-node="${id}"]`);

interface Given {
  ref: string;
  queue?: string;
  type?: string;
  after?: unknown;
}
async function put_all(server: Server, tasks: Given[]): Promise<Record<string, string>> {
  const { tasks: put } = await server.must('POST', '/v1/tasks', { atomic: true, tasks: tasks.map((one) => ({ queue: 'etl', type: one.ref, ...one })) });
  return Object.fromEntries(tasks.map(({ ref }, i) => [ref, put[i].id]));
}
const diamond: Given[] = [
  { ref: 'load', queue: 'loads' },
  { ref: 'clean', after: ['load'] },
  { ref: 'join', after: { tasks: ['clean', 'load'], otherwise: 'hold' } },
  { ref: 'report', queue: 'reports', after: ['join'] },
];

test('a graph is drawn, and follows what happens', async ({ page, server }) => {
  const id = await put_all(server, diamond);
  await page.goto(`${server.url}/tasks/${id.join}`);
  await expect(page.getByRole('main').locator('header [data-state]')).toHaveText('waits for others');
  await expect(card(page)).toContainText('It waits for 2 of 2 tasks. 1 task waits for it.');
  const all = card(page).getByRole('list', { name: 'Tasks of the graph' });
  await expect(all.getByRole('listitem')).toHaveCount(4);
  for (const [ref, layer] of Object.entries({ load: -2, clean: -1, join: 0, report: 1 })) {
    await expect(node(page, id[ref] ?? '')).toHaveAttribute('data-layer', String(layer));
  }
  await expect(card(page).locator('svg path:not(.tip)')).toHaveCount(4 + 2); // two in the legend
  // From left to right.
  const left = async (ref: string) => (await node(page, id[ref] ?? '').boundingBox())?.x ?? NaN;
  expect(await left('load')).toBeLessThan(await left('clean'));
  expect(await left('join')).toBeLessThan(await left('report'));
  await expect(node(page, id.join ?? '').locator('[aria-current=true]')).toContainText('this task');
  await expect(node(page, id.load ?? '').getByRole('link')).toHaveAccessibleName(/^load .*queued\s*waited for/);
  await expect(node(page, id.clean ?? '').getByRole('link')).toHaveAccessibleName(/waits for others\s*waited for\s*after load/);
  await expect(node(page, id.report ?? '')).not.toContainText('waited for');

  const [load] = await server.take('loads');
  await server.settle(load!, { outcome: 'done' });
  await expect(node(page, id.load ?? '')).toContainText('completed');
  await expect(node(page, id.load ?? '')).not.toContainText('waited for');
  await expect(card(page)).toContainText('It waits for 1 of 2 tasks.');
  await expect(card(page).locator('.canvas path.waits:not(.tip)')).toHaveCount(2);
  await expect(node(page, id.clean ?? '')).toContainText('queued');

  // By keyboard to another one, which has ended: those that waited for it are still there.
  await node(page, id.load ?? '').getByRole('link').focus();
  await page.keyboard.press('Enter');
  await expect(page).toHaveURL(`${server.url}/tasks/${id.load}`);
  await expect(node(page, id.load ?? '')).toContainText('this task');
  await expect(card(page).getByRole('listitem')).toHaveCount(4);
});

test('many parents and children: the nearest are drawn, the rest is in lists', async ({ page, server }) => {
  const parents = Array.from({ length: 130 }, (_, i) => ({ ref: `p${i}`, type: 'part' }));
  const children = Array.from({ length: 70 }, (_, i) => ({ ref: `c${i}`, queue: 'mails', type: 'child', after: ['self'] }));
  const id = await put_all(server, [...parents, { ref: 'self', after: parents.map(({ ref }) => ref) }, ...children]);
  for (const task of await server.take('etl', 128)) await server.settle(task, { outcome: 'done' });
  await page.goto(`${server.url}/tasks/${id.self}`);
  await expect(card(page)).toContainText('It waits for 2 of 130 tasks. 70 tasks wait for it.');
  await expect(card(page).locator('[data-node]')).toHaveCount(60 + 2);
  await expect(card(page).getByRole('link', { name: /^part .*waited for/ })).toHaveCount(2);
  // The task itself is in sight at first.
  await expect(node(page, id.self ?? '')).toBeInViewport();

  await card(page).getByRole('button', { name: '100 more that it waits or waited for: list all' }).click();
  const rows = card(page).locator('[data-parent]');
  await expect(rows).toHaveCount(50);
  await expect(rows.first()).toContainText('completed');
  await expect(card(page)).toContainText('1 to 50 of 130');
  await card(page).getByRole('button', { name: 'Next' }).click();
  await card(page).getByRole('button', { name: 'Next' }).click();
  await expect(card(page)).toContainText('101 to 130 of 130');
  await expect(rows).toHaveCount(30);
  await expect(rows.filter({ hasText: 'waited for' })).toHaveCount(2);
  await expect(card(page).getByRole('button', { name: 'Next' })).toBeDisabled();
  await card(page).getByRole('button', { name: 'Close the list' }).click();
  await expect(rows).toHaveCount(0);

  await card(page).getByRole('link', { name: '41 more that wait for it: to the list of tasks' }).click();
  await expect(page.locator('tbody tr[data-task]')).toHaveCount(50);
  await expect(page.getByRole('search')).toContainText('Waiting for');
  await expect(page.locator('tbody tr').first().locator('[data-state]')).toHaveText('waits for others');
  await expect(page.locator('tbody tr').first()).toContainText('after 1 task');
});

test('a removed parent, and one in a queue that the key may not see', async ({ page, server }) => {
  const id = await put_all(server, [
    { ref: 'gone' },
    { ref: 'hidden', queue: 'secret' },
    { ref: 'self', after: { tasks: ['gone', 'hidden'], when: 'ended' } },
  ]);
  await server.must('DELETE', `/v1/tasks/${id.gone}`);
  const admin = await server.make_key('ops', ['admin']);
  server.key = admin.secret;
  const reader = await server.make_key('wall', ['read'], ['etl']);
  await page.goto(`${server.url}/tasks/${id.self}`);
  await page.getByLabel('API key').fill(reader.secret);
  await page.getByRole('button', { name: 'Sign in' }).click();
  for (const ref of ['gone', 'hidden']) {
    await expect(node(page, id[ref] ?? '')).toContainText('removed, or not for your key');
    await expect(node(page, id[ref] ?? '').getByRole('link')).toHaveCount(0);
  }
});

test('a task without others has no graph; one that cannot be read says so', async ({ page, server, complaints }) => {
  await page.goto(`${server.url}/tasks/${await server.put('etl')}`);
  await expect(page.locator('[data-gate]')).toBeVisible();
  await expect(card(page)).toHaveCount(0);
  const id = await put_all(server, diamond);
  let broken = true;
  let asked: () => void = () => {};
  const answered = new Promise<void>((done) => (asked = done));
  await page.route('**/v1/tasks/*/graph', async (route) => {
    if (!broken) return route.continue();
    await answered;
    return route.fulfill({ status: 500, json: { code: 'internal', detail: 'the graph is in a knot' } });
  });
  await page.goto(`${server.url}/tasks/${id.join}`);
  await expect(card(page).getByRole('status', { name: 'Loading' })).toBeVisible();
  asked();
  await expect(card(page).getByRole('alert')).toContainText('the graph is in a knot');
  broken = false;
  await card(page).getByRole('button', { name: 'Try again' }).click();
  await expect(card(page).locator('[data-node]')).toHaveCount(4);
  forgive(complaints, /status of 500/);
});

test('a large graph is dragged with the mouse, and a drag follows no link', async ({ page, server }) => {
  const chain = Array.from({ length: 14 }, (_, i) => ({ ref: `t${i}`, ...(i > 0 && { after: [`t${i - 1}`] }) }));
  const id = await put_all(server, chain);
  await page.goto(`${server.url}/tasks/${id.t7}`);
  await expect(node(page, id.t7 ?? '')).toBeInViewport();
  const view = card(page).locator('.view');
  const before = await view.evaluate((one) => one.scrollLeft);
  const box = (await node(page, id.t6 ?? '').boundingBox())!;
  await page.mouse.move(box.x + 60, box.y + 20);
  await page.mouse.down();
  await page.mouse.move(box.x + 260, box.y + 20, { steps: 4 });
  await page.mouse.up();
  expect(await view.evaluate((one) => one.scrollLeft)).toBeLessThan(before - 150);
  await expect(page).toHaveURL(`${server.url}/tasks/${id.t7}`);
  await node(page, id.t6 ?? '').getByRole('link').click();
  await expect(page).toHaveURL(`${server.url}/tasks/${id.t6}`);
});

for (const theme of themes) {
  test(`accessible in ${theme}, beside each other and below each other, in Russian`, async ({ page, server }) => {
    const id = await put_all(server, [...diamond, ...Array.from({ length: 40 }, (_, i) => ({ ref: `w${i}`, after: ['join'] }))]);
    await use_theme(page, theme);
    await use_language(page, 'ru');
    for (const width of [1920, 360]) {
      await page.setViewportSize({ width, height: 900 });
      await page.goto(`${server.url}/tasks/${id.join}`);
      await expect(node(page, id.join ?? '')).toContainText('эта задача');
      await expect(node(page, id.join ?? '')).toBeInViewport();
      await expect(page.getByText('Её ждёт 41 задача.')).toBeVisible();
      await page.getByRole('button', { name: 'Все задачи до неё: 2' }).click();
      await expect(page.locator('[data-parent]')).toHaveCount(2);
      await expect_accessible(page);
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
      const [above, here] = [await node(page, id.clean ?? '').boundingBox(), await node(page, id.join ?? '').boundingBox()];
      if (width === 360) expect(above!.y + above!.height).toBeLessThan(here!.y);
      else expect(above!.x + above!.width).toBeLessThan(here!.x);
    }
  });
}
