// What the scripts of all peers share: their arguments, the payload, the figure.

// "add --port 6379 --seconds 2" -> { mode: "add", port: "6379", seconds: "2" }; with "child" before it, as
// processes.mjs starts them, also child: true.
export function read_arguments() {
  const words = process.argv.slice(2);
  const child = words[0] === "child";
  const [mode, ...rest] = child ? words.slice(1) : words;
  const read = { mode, child };
  for (let i = 0; i + 1 < rest.length; i += 2) read[rest[i].replace(/^--/, "")] = rest[i + 1];
  return read;
}

// The one that the bench sends to Millrace, from the bench.
export const payload = JSON.parse(process.env.MILLRACE_BENCH_PAYLOAD ?? "{}");

export const seconds_now = () => Number(process.hrtime.bigint()) / 1e9;

// The one line that the bench reads.
export const print_figures = (figures) => console.log(JSON.stringify(figures));

export function quantile(values, share) {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
}
