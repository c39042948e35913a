// What the sources of the page must not contain, since it would only fail in a user's browser.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@playwright/test';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', 'src');

function* sources(folder: string): Generator<string> {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* sources(path);
    else if (/\.(svelte|ts)$/.test(entry.name)) yield path;
  }
}

const rules: [pattern: RegExp, where: RegExp, why: string][] = [
  [/\{@html/, /./, 'text of others could become part of the page'],
  [/\bstyle="/, /\.svelte$/, 'the policy forbids it; use style:name={…} or a class'],
  [/href="[/#]/, /\.svelte$/, 'there is a <base>; use link()'],
  [/\b(fetch|EventSource)\(/, /pages\/(?!.*samples\.ts$)/, 'requests go through src/api and src/live'], // samples are code of users
  [/\bsetInterval\(/, /pages\//, 'use poll() or clock.now'],
  [/new Date\(|Date\.now\(/, /pages\//, "the server's time is clock.now"],
  [/#[0-9a-fA-F]{3,8}\b(?=[;,) ])/, /(pages|shell)\/.*\.svelte$/, 'colours come from theme/tokens.css'],
];

for (const [pattern, where, why] of rules) {
  test(`${pattern.source}: ${why}`, () => {
    const found: string[] = [];
    for (const path of sources(root)) {
      if (!where.test(path)) continue;
      readFileSync(path, 'utf8').split('\n').forEach((line, i) => {
        if (pattern.test(line)) found.push(`${relative(root, path)}:${i + 1}: ${line.trim()}`);
      });
    }
    expect(found).toEqual([]);
  });
}
