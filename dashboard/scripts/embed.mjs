// The built page as C++: node scripts/embed.mjs DIST OUTPUT.cc
// Every file as it is and, where that is smaller, compressed; the server only chooses.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';

const [dist, output] = process.argv.slice(2);
const types = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
};

function* files(folder, path = '') {
  for (const entry of readdirSync(join(folder, path), { withFileTypes: true })) {
    const inside = `${path}/${entry.name}`;
    if (entry.isDirectory()) yield* files(folder, inside);
    else yield inside;
  }
}

let arrays = '';
let number = 0;
// A name for the bytes, and what a string_view of them is made of.
function literal(bytes) {
  if (bytes.length === 0) return '{}';
  const name = `bytes_${number++}`;
  const lines = [];
  for (let at = 0; at < bytes.length; at += 32) {
    lines.push(`    ${[...bytes.subarray(at, at + 32)].map((byte) => `${byte},`).join('')}`);
  }
  arrays += `constexpr unsigned char ${name}[] = {\n${lines.join('\n')}\n};\n`;
  return `view(${name}, sizeof ${name})`;
}

const smaller = (bytes, than) => (bytes.length < than.length * 0.95 ? bytes : Buffer.alloc(0));

let rows = '';
for (const path of [...files(dist)].sort()) {
  const type = types[extname(path)];
  if (!type) throw new Error(`${path}: which content type do files ${extname(path)} have? embed.mjs does not know`);
  const plain = readFileSync(join(dist, path));
  const packed = smaller(gzipSync(plain, { level: 9 }), plain);
  const brotli = smaller(brotliCompressSync(plain, { params: { [constants.BROTLI_PARAM_SIZE_HINT]: plain.length } }), plain);
  const tag = createHash('sha256').update(plain).digest('hex').slice(0, 16);
  rows += `    File{.path = "${path}", .content_type = "${type}", .tag = "${tag}",\n`;
  rows += `         .plain = ${literal(plain)}, .gzip = ${literal(packed)}, .brotli = ${literal(brotli)}},\n`;
}

writeFileSync(
  output,
  `// Made from the dashboard by dashboard/scripts/embed.mjs.
#include "pages/files.h"

namespace millrace::pages {
namespace {

std::string_view view(const unsigned char* bytes, std::size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

${arrays}
}  // namespace

std::span<const File> files() {
  static const File all[] = {
${rows}  };
  return all;
}

}  // namespace millrace::pages
`,
);
