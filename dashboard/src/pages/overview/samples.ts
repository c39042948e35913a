// The first task and the first worker, to be copied. `server` is where this page came from.
type Sample = [language: string, text: string];

const key = 'MILLRACE_KEY';
const address = (server: string): string => `${server}/v1/queues/emails/tasks`;

const quoted = (text: string): string => (/^[\w.-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`);

const exported = (server: string, needs_key: boolean): string =>
  `export MILLRACE_URL=${server}${needs_key ? ` ${key}=mr_…` : ''}\n`;

function put_by_curl(server: string, needs_key: boolean): string {
  const body = '{"type":"welcome","payload":{"to":"ann@example.org"}}';
  const authorization = needs_key ? ` -H "Authorization: Bearer $${key}"` : '';
  return `curl -sS${authorization} -H 'Content-Type: application/json' \\\n  ${address(server)} \\\n  -d '${body}'`;
}

const put_in_python = (server: string, needs_key: boolean): string => `import json
${needs_key ? 'import os\n' : ''}import urllib.request

request = urllib.request.Request(
    "${address(server)}",
    json.dumps({"type": "welcome", "payload": {"to": "ann@example.org"}}).encode(),
    {"Content-Type": "application/json"${needs_key ? `, "Authorization": "Bearer " + os.environ["${key}"]` : ''}},
)
print(json.load(urllib.request.urlopen(request))["id"])`;

const put_in_node = (server: string, needs_key: boolean): string => `const answer = await fetch("${address(server)}", {
  method: "POST",
  headers: { "Content-Type": "application/json"${needs_key ? `, Authorization: \`Bearer \${process.env.${key}}\`` : ''} },
  body: JSON.stringify({ type: "welcome", payload: { to: "ann@example.org" } }),
});
if (!answer.ok) throw new Error(await answer.text());
console.log((await answer.json()).id);`;

const put_in_go = (server: string, needs_key: boolean): string => `package main

import (
	"io"
	"log"
	"net/http"
${needs_key ? '\t"os"\n' : ''}	"strings"
)

func main() {
	task := strings.NewReader(\`{"type":"welcome","payload":{"to":"ann@example.org"}}\`)
	request, err := http.NewRequest("POST", "${address(server)}", task)
	if err != nil {
		log.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
${needs_key ? `	request.Header.Set("Authorization", "Bearer "+os.Getenv("${key}"))\n` : ''}	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		log.Fatal(err)
	}
	defer answer.Body.Close()
	said, _ := io.ReadAll(answer.Body)
	if answer.StatusCode != http.StatusCreated {
		log.Fatal(string(said))
	}
	log.Print(string(said))
}`;

const put_in_cpp = (server: string): string => `#include <millrace/client.h>

int main() {
  millrace::Client client("${server}");
  const auto put = client.put({.queue = "emails",
                               .type = "welcome",
                               .payload = R"({"to":"ann@example.org"})"});
  return put ? 0 : 1;
}`;

export const put_samples = (server: string, needs_key: boolean): Sample[] => [
  ['curl', put_by_curl(server, needs_key)],
  ['CLI', `${exported(server, needs_key)}millrace put emails '{"to":"ann@example.org"}' --type welcome`],
  ['Python', put_in_python(server, needs_key)],
  ['Node', put_in_node(server, needs_key)],
  ['Go', put_in_go(server, needs_key)],
  ['C++', put_in_cpp(server)],
];

const work_in_cpp = (server: string, queue: string): string => `#include <millrace/app.h>

struct Email {
  std::string to;
};
MILLRACE_FIELDS(Email, to)

int main() {
  millrace::App app("${server}");
  app.handle<Email>(${JSON.stringify(queue)}, {.concurrency = 5}, [](const Email& email, millrace::Context& task) {
    task.log("sent to " + email.to);
  });
  return app.run();  // until SIGTERM or SIGINT
}`;

export const work_samples = (server: string, needs_key: boolean, queue: string): Sample[] => [
  ['CLI', `${exported(server, needs_key)}millrace work ${quoted(queue)} -- cat   # any command: a payload comes in, the result goes out`],
  ['Python', `${exported(server, needs_key)}python3 examples/python/worker.py ${quoted(queue)}   # copy it and write your own handle()`],
  ['Node', `${exported(server, needs_key)}node examples/node/worker.mjs ${quoted(queue)}   # copy it and write your own handle()`],
  ['C++', work_in_cpp(server, queue)],
];
