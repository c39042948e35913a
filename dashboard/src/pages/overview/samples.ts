// The first task and the first worker, to be copied. `server` is where this page came from.
const key = '$MILLRACE_KEY';

const quoted = (text: string): string => (/^[\w.-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`);

const exported = (server: string, needs_key: boolean): string =>
  `export MILLRACE_URL=${server}${needs_key ? ' MILLRACE_KEY=mr_…' : ''}\n`;

export function put_samples(server: string, needs_key: boolean): [string, string][] {
  const body = '{"type":"welcome","payload":{"to":"ann@example.org"}}';
  const authorization = needs_key ? ` -H "Authorization: Bearer ${key}"` : '';
  return [
    ['curl', `curl -sS${authorization} -H 'Content-Type: application/json' \\\n  ${server}/v1/queues/emails/tasks \\\n  -d '${body}'`],
    ['CLI', `${exported(server, needs_key)}millrace put emails '{"to":"ann@example.org"}' --type welcome`],
    [
      'C++',
      `#include <millrace/client.h>\n\nint main() {\n  millrace::Client client("${server}");\n` +
        `  const auto put = client.put({.queue = "emails",\n                               .type = "welcome",\n` +
        `                               .payload = R"({"to":"ann@example.org"})"});\n  return put ? 0 : 1;\n}`,
    ],
  ];
}

export function work_samples(server: string, needs_key: boolean, queue: string): [string, string][] {
  return [
    ['CLI', `${exported(server, needs_key)}millrace work ${quoted(queue)} -- cat   # any command: a payload comes in, the result goes out`],
    [
      'C++',
      `#include <millrace/app.h>\n\nstruct Email {\n  std::string to;\n};\nMILLRACE_FIELDS(Email, to)\n\nint main() {\n` +
        `  millrace::App app("${server}");\n` +
        `  app.handle<Email>(${JSON.stringify(queue)}, {.concurrency = 5}, [](const Email& email, millrace::Context& task) {\n` +
        `    task.log("sent to " + email.to);\n  });\n  return app.run();  // until SIGTERM or SIGINT\n}`,
    ],
  ];
}
