// `npm ci`, once for each lockfile: node scripts/install.mjs
// Several builds may ask at the same time; one installs, and the others wait for it.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const mark = join(root, 'node_modules', '.installed');
const lock = join(root, '.installing');
const wanted = createHash('sha256').update(readFileSync(join(root, 'package-lock.json'))).digest('hex');
const installed = () => existsSync(mark) && readFileSync(mark, 'utf8') === wanted;
const rest = (ms) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

function locked() {
  try {
    mkdirSync(lock);
    return true;
  } catch {
    // Left behind by one that was killed?
    const age = existsSync(lock) ? Date.now() - statSync(lock).mtimeMs : 0;
    if (age > 10 * 60_000) rmSync(lock, { recursive: true, force: true });
    return false;
  }
}

while (!installed()) {
  if (!locked()) {
    rest(500);
    continue;
  }
  try {
    if (installed()) break;
    const run = spawnSync('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], { cwd: root, stdio: 'inherit' });
    if (run.status !== 0) {
      console.error('npm ci failed (see above); it needs the network once, for what package-lock.json names');
      process.exitCode = 1;
      break;
    }
    writeFileSync(mark, wanted);
  } finally {
    rmSync(lock, { recursive: true, force: true });
  }
}
