import { test } from '@playwright/test';
import { writeFileSync } from 'node:fs';
import { Server } from '../tests/server.ts';
import { Life } from './life.ts';
import { set_scene } from './scene.ts';
test('hold', async () => {
  test.setTimeout(0);
  const server = await new Server().start();
  const hero = await set_scene(server);
  writeFileSync('/tmp/dlook/url', `${server.url} ${hero}`);
  new Life(server).start();
  await new Promise((r) => setTimeout(r, 50 * 60_000));
});
