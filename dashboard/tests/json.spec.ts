// JSON as text, and filters as addresses: without a page.
import { expect, test } from '@playwright/test';
import { indented, json_problem, lines_of, member_of } from '../src/format/json.ts';

test('is indented without a change to any value', () => {
  const text = '{ "b" : 1.0,"a":[1e2 , "\\u00e9",[ ],{ }], "n":12345678901234567890,"a":null}';
  expect(indented(text)).toBe(
    ['{', '  "b": 1.0,', '  "a": [', '    1e2,', '    "\\u00e9",', '    [],', '    {}', '  ],', '  "n": 12345678901234567890,', '  "a": null', '}'].join('\n'),
  );
  for (const plain of ['1', '"a:b"', 'true', '[]', '{}', '-0.5e-7']) expect(indented(plain)).toBe(plain);
  expect(JSON.parse(indented(text))).toEqual(JSON.parse(text));
});

test('marks inside of strings are none', () => {
  expect(indented('{"a{[,:\\"]}":"},\\\\"}')).toBe('{\n  "a{[,:\\"]}": "},\\\\"\n}');
});

test('lines know what closes them', () => {
  const lines = lines_of('{"a":[1,{"b":2}]}') ?? [];
  expect(lines.map((line) => [line.depth, line.closes])).toEqual([[0, 7], [1, 6], [2, -1], [2, 5], [3, -1], [2, -1], [1, -1], [0, -1]]);
});

test('text that is not JSON stays as it is', () => {
  for (const text of ['{"a":', '[1,2', 'undefined', '{]', ']', '"open', '{"a":1}}', "{'a':1}"]) {
    expect(lines_of(text) === null || json_problem(text) !== '', text).toBe(true);
  }
  expect(indented('no json')).toBe('no json');
});

test('depth and size are no trouble', () => {
  const deep = '['.repeat(20_000) + ']'.repeat(20_000);
  expect(lines_of(deep)?.length).toBe(39_999);
  const long = `[${Array.from({ length: 50_000 }, (_, i) => `"${i}"`).join(',')}]`;
  expect(lines_of(long)?.length).toBe(50_002);
});

test('members of an object, as they stand there', () => {
  const task = '{"id":"a","payload":{ "payload" : 12345678901234567890 , "s":"}\\"" } ,"meta\\u0064ata":{"x":1.10},"last":[1,2]}';
  expect(member_of(task, 'payload')).toBe('{ "payload" : 12345678901234567890 , "s":"}\\"" }');
  expect(member_of(task, 'metadata')).toBe('{"x":1.10}');
  expect(member_of(task, 'last')).toBe('[1,2]');
  expect(member_of(task, 's')).toBeNull();
  expect(member_of('{}', 'a')).toBeNull();
});
