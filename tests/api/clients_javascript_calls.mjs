// Calls methods of the client as it is told to, on a server that refuses all: node FILE MODULE URL, with lines of JSON on its input,
// [owner, method, arguments]. Prints a line for each that was not refused as it should be.
import { createInterface } from "node:readline";

const [, , module, url] = process.argv;
const { ApiError, Client } = await import(module);

// The first two answers make the objects that calls are made on; from then on the server is asked.
const made = [{ id: "s", domain: null, access_token: null }, { pid: 1 }];
const ask = async (target, request) => (made.length ? Response.json(made.shift()) : fetch(target, request));
const client = new Client({ url, fetch: ask });
const sandbox = await client.sandboxes.create();
const owners = {
  Client: client, Jobs: client.jobs, Lessons: client.lessons, Volumes: client.volumes, Webhooks: client.webhooks, Sandboxes: client.sandboxes, Sandbox: sandbox,
  SandboxFiles: sandbox.files, Processes: sandbox.processes, Process: await sandbox.processes.get(1),
};

async function outcome(owner, method, given) {
  const called = owners[owner][method](...given);
  if (called[Symbol.asyncIterator]) await called[Symbol.asyncIterator]().next();
  else await called;
}

for await (const line of createInterface({ input: process.stdin })) {
  const [owner, method, given] = JSON.parse(line);
  try {
    await outcome(owner, method, given);
    console.log(`${owner}.${method} is not refused`);
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 418) console.log(`${owner}.${method}: ${error.stack}`);
  }
}
