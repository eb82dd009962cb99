// The client for JavaScript against a running server: node FILE MODULE NAME runs one of the functions below and says "done".
import assert from "node:assert/strict";
import { createServer } from "node:net";

const [, , module, name] = process.argv;
const { AnswerTimeout, BadRequest, BrokenStream, Client, Conflict, ConnectionFailed, DiskFull, InvalidAddress, NoProvider, NotFound,
  ServerFailure, Unauthorized, UnexpectedAnswer } = await import(module);

const scale = Number(process.env.JAIL_TEST_TIME_SCALE);
const client = new Client({ answerSeconds: 60 * scale });
const SLEEPS = "import time\nprint('begun', flush=True)\ntime.sleep(50)";

/** What is thrown, which is of that kind and has that code. */
async function refused(promise, Kind, code) {
  const error = await promise.then(() => assert.fail("it is not refused"), (thrown) => thrown);
  assert(error instanceof Kind, error.stack);
  assert.equal(error.code, code);
  return error;
}

async function until(condition) {
  const deadline = Date.now() + 40_000 * scale;
  while (!(await condition())) {
    assert(Date.now() < deadline, "it does not come true");
    await new Promise((done) => setTimeout(done, 10));
  }
}

async function withSandbox(work, options) {
  const sandbox = await client.sandboxes.create(options);
  try {
    await work(sandbox);
  } finally {
    await sandbox.delete();
  }
}

async function all(iterable) {
  const items = [];
  for await (const item of iterable) items.push(item);
  return items;
}

async function* blocks(count, look) {
  for (let number = 0; number < count; number++) {
    await look(number);
    yield new Uint8Array(64 * 1024);
  }
}

const checks = {
  async programs() {
    const result = await client.execute("import sys, os\nprint(sys.stdin.read(), sys.argv[1], os.environ['a_b'], open('b', 'rb').read())\nopen('c', 'w').write('x')", {
      stdin: "in", args: ["argument"], env: { a_b: "a" }, files: { b: new Uint8Array([255]) }, artifacts: ["c"], timeoutSeconds: 60,
    });
    assert.deepEqual([result.stdout, result.status, result.exitCode], ["in argument a b'\\xff'\n", "success", 0]);
    assert.deepEqual([result.artifacts[0].path, result.artifacts[0].mediaType, atob(result.artifacts[0].base64)], ["c", "application/octet-stream", "x"]);
    assert.equal((await client.execute("exit(3)", { timeoutSeconds: 60 })).exitCode, 3);
    const jobs = await all(client.jobs.iterate());
    assert.deepEqual(jobs.slice(0, 2).map((job) => job.status), ["error", "success"]);
    assert.equal((await client.jobs.get(result.jobId)).result.stdout, result.stdout);
  },

  async refusals() {
    const error = await refused(client.execute("1", { memoryLimitMb: 1 }), BadRequest, "out_of_range");
    assert.deepEqual([error.status, error.field, error.title, error.name], [400, "memory_limit_mb", "Bad Request", "BadRequest"]);
    assert.match(error.requestId, /^[0-9a-f-]{36}$/);
    await refused(client.jobs.get("../x?y"), NotFound, "no_such_job");
    await refused(client.run("Add two numbers"), NoProvider, "no_provider");
    for (const url of ["localhost:8000", "http://", "http://a?b", "http://u:p@a", "unix:/path"]) {
      assert.throws(() => new Client({ url }), InvalidAddress);
    }
    assert.throws(() => new Client({ key: "a\r\nX: y" }), InvalidAddress);
    const taken = /expected an object such as \{ url, key, answerSeconds, fetch \}/;
    for (const options of ["http://127.0.0.1:9", null, { baseUrl: "http://127.0.0.1:9" }, { Url: "http://127.0.0.1:9" }]) {
      assert.throws(() => new Client(options), { name: "TypeError", message: taken });
    }
    assert.throws(() => new Client({ url: new URL("http://127.0.0.1:9") }), { name: "TypeError", message: /url/ });
    assert.ok(new Client({ url: undefined, key: undefined }));
  },

  async streams() {
    let job;
    for await (const event of client.executeStream(SLEEPS, { timeoutSeconds: 60 })) {
      if (event.type === "started") job = event.data.jobId;
      if (event.type === "stdout") {
        assert.equal(event.data, "begun\n");
        assert.equal((await client.jobs.get(job)).status, "running");
        break;
      }
    }
    await until(async () => (await client.jobs.get(job)).status === "cancelled");
    const events = await all(client.executeStream("print(1)", { timeoutSeconds: 60 }));
    assert.deepEqual(events.map((event) => event.type), ["started", "stdout", "execution_result", "complete"]);
    const cancelled = client.executeStream(SLEEPS, { timeoutSeconds: 60 });
    for await (const event of cancelled) {
      if (event.type !== "stdout") continue;
      const [{ jobId }] = (await client.jobs.list({ status: "running" })).jobs;
      const last = client.jobs.stream(jobId).last();
      await client.jobs.cancel(jobId);
      assert.equal((await last).type, "complete");
    }
  },

  async fiftyAtOnce() {
    const results = await Promise.all([...Array(50).keys()].map((number) => client.execute(`print(${number})`, { timeoutSeconds: 60 })));
    assert.deepEqual(results.map((result) => result.stdout), [...Array(50).keys()].map((number) => `${number}\n`));
  },

  async patience() {
    const tired = await client.execute(SLEEPS, { timeoutSeconds: 60, answerSeconds: 0.3 }).catch((error) => error);
    assert(tired instanceof AnswerTimeout, tired.stack);
    const controller = new AbortController();
    const reason = new Error("enough");
    const stream = client.executeStream(SLEEPS, { timeoutSeconds: 60, signal: controller.signal });
    await assert.rejects(async () => {
      for await (const event of stream) if (event.type === "stdout") controller.abort(reason);
    }, reason);
    await until(async () => (await client.jobs.list({ status: "running" })).jobs.length === 0);
    await assert.rejects(client.health({ signal: AbortSignal.abort(reason) }), reason);
  },

  async life() {
    const sandbox = await client.sandboxes.create({ name: "client", metadata: { a_b: "c" }, limits: { memoryMb: 64 }, timeoutSeconds: 60, idleSeconds: null });
    assert.deepEqual([sandbox.details.limits.memoryMb, sandbox.details.idleSeconds, sandbox.details.metadata], [64, null, { a_b: "c" }]);
    assert.equal((await client.sandboxes.get("client")).id, sandbox.id);
    assert.deepEqual((await all(client.sandboxes.iterate({ state: "running", metadata: "a_b:c" }))).map((each) => each.id), [sandbox.id]);
    await refused(client.sandboxes.create({ name: "client" }), Conflict, "name_taken");
    const before = sandbox.details.endsAt;
    assert((await sandbox.renew(3000)).endsAt > before);
    assert.equal((await sandbox.change({ limits: { memoryMb: 200 } })).limits.memoryMb, 200);
    const token = sandbox.details.accessToken;
    assert.notEqual((await sandbox.renewToken()).accessToken, token);
    assert.equal((await sandbox.pause()).state, "paused");
    assert.equal((await sandbox.run("echo hi")).stdout, "hi\n");
    assert.equal((await sandbox.refresh()).state, "running");
    await sandbox.pause();
    assert.equal((await sandbox.resume()).state, "running");
    await sandbox.delete();
    assert.deepEqual([(await sandbox.refresh()).state, sandbox.details.outcome.code], ["ended", "deleted"]);
    await refused(sandbox.processes.list(), Conflict, "sandbox_ended");
    await withSandbox(async (stays) => {
      await stays.pause();
      await refused(stays.run("true"), Conflict, "sandbox_paused");
    }, { autoResume: false });
  },

  commands: () => withSandbox(async (sandbox) => {
    const result = await sandbox.run("cat; echo $a_b >&2; exit 3", { stdin: "in", env: { a_b: "a" } });
    assert.deepEqual([result.stdout, result.stderr, result.exitCode, result.stdoutTruncated], ["in", "a\n", 3, false]);
    const program = await sandbox.run({ code: "import sys; print(sys.argv[1:], input())", args: ["a b"] }, { stdin: "in" });
    assert.deepEqual([program.stdout, program.warm], ["['a b'] in\n", false]);
    const flood = await sandbox.run("head -c 1500000 /dev/zero | tr '\\0' x");
    assert.deepEqual([flood.stdout.length, flood.stdoutTruncated], [1024 * 1024, true]);
    assert.equal((await sandbox.run("printf '\\377'", { outputEncoding: "base64" })).stdout, "/w==");
    const said = [];
    for await (const event of sandbox.runStream("echo first; exec cat", { keepStdinOpen: true })) {
      if (event.type !== "stdout") continue;
      said.push(event.data);
      if (said.length > 1) continue;
      const [{ pid }] = (await sandbox.processes.list()).filter((each) => each.state === "running");
      const running = await sandbox.processes.get(pid);
      await running.write(new TextEncoder().encode("second"), { close: true });
    }
    assert.deepEqual(said, ["first\n", "second"]);
  }),

  background: () => withSandbox(async (sandbox) => {
    const started = await sandbox.start("echo out; exec cat", { keepStdinOpen: true });
    for await (const event of started.outputStream()) if (event.type === "stdout") break;
    await started.write("in");
    await started.closeInput();
    let heard = "";
    assert.equal((await started.wait({ onOutput: (stream, text) => { heard += `${stream} ${text}`; } })).exitCode, 0);
    assert.match(heard, /^stdout out\n(stdout )?in$/);
    assert.equal((await started.output({ start: 1 })).pieces.map((piece) => piece.data).join(""), "ut\nin");
    await started.delete();
    await refused(started.refresh(), NotFound, "no_such_process");
    const sleeper = await sandbox.start(["sleep", "50"], { pty: { columns: 80, rows: 24 } });
    await sleeper.resize(100, 30);
    await sleeper.signal("SIGTERM", { group: true });
    assert.equal((await sleeper.wait()).signal, "SIGTERM");
  }),

  files: () => withSandbox(async ({ files }) => {
    const entry = await files.write("/workspace/a/b ü%?.txt", "tëxt", { mode: "0600" });
    assert.deepEqual([entry.path, entry.size, entry.mode], ["/workspace/a/b ü%?.txt", 5, "0600"]);
    assert.equal(await files.readText(entry.path), "tëxt");
    assert.deepEqual(await files.stat(entry.path), entry);
    assert.deepEqual((await all(await files.readStream(entry.path, { start: 2, end: 3 }))).map((piece) => [...piece]), [[0xab]]);
    assert.deepEqual([await files.exists(entry.path), await files.exists("/workspace/none")], [true, false]);
    await files.makeDirectory("/workspace/c/d");
    assert.equal((await files.move(entry.path, "/workspace/c/e")).path, "/workspace/c/e");
    assert.deepEqual((await files.list("/workspace", { depth: 2 })).entries.map((each) => each.path),
      ["/workspace/a", "/workspace/c", "/workspace/c/d", "/workspace/c/e"]);
    assert.equal((await files.search("ëx")).matches[0].line, 1);
    await files.writeTree("/workspace/copy", await files.readTree("/workspace/c"));
    assert.equal(await files.readText("/workspace/copy/e"), "tëxt");
    await files.write("/workspace/blob", new Blob(["b", "lob"]));
    assert.deepEqual([...await files.read("/workspace/blob")], [...new TextEncoder().encode("blob")]);
    const signed = await files.sign("/workspace/blob", { expiresInSeconds: 600 });
    assert.equal(await (await fetch(signed.url)).text(), "blob");
    await refused(files.remove("/workspace/c"), Conflict, "not_empty");
    await files.remove("/workspace/c", { recursive: true });
    await refused(files.read("/workspace/c/e"), NotFound, "no_such_file");
    assert.throws(() => files.read("relative"), /\/workspace\/relative/);
  }),

  async following() {
    const sandbox = await client.sandboxes.create();
    for await (const event of sandbox.files.watch("/workspace", { recursive: true })) {
      if (event.type === "watching") await sandbox.run("touch f; mv f g");
      if (event.type !== "moved") continue;
      assert.deepEqual([event.data.from, event.data.path], ["/workspace/f", "/workspace/g"]);
      break;
    }
    const { pid } = await sandbox.run("echo said");
    const seen = [];
    for await (const event of sandbox.logsStream()) {
      seen.push(event.type);
      if (event.type !== "log") continue;
      assert.deepEqual([event.data.pid, event.data.data], [pid, "said\n"]);
      await sandbox.delete();
    }
    assert.deepEqual(seen, ["log", "end"]);
    const ended = (await all(sandbox.eventsStream())).filter((event) => event.type === "event").map((event) => event.data);
    assert.equal(ended.find((event) => event.kind === "ended").detail.outcome.code, "deleted");
    assert.equal((await sandbox.metrics({ start: 0 })).now, null);
    assert.deepEqual((await sandbox.logs({ tail: 1 })).entries.map((entry) => entry.data), ["said\n"]);
    assert.equal((await client.audit({ sandbox: sandbox.id, limit: 1 })).events[0].sandboxId, sandbox.id);
  },

  largeFiles: () => withSandbox(async ({ files }) => {
    const size = 50 * 1024 * 1024;
    let most = 0;
    const look = async (number) => {
      if (number % 64) return;
      globalThis.gc(); // what is garbage counts until it is collected, by another thread
      await new Promise((done) => setTimeout(done, 20));
      most = Math.max(most, process.memoryUsage().arrayBuffers);
    };
    assert.equal((await files.write("/workspace/big", blocks(size / 65536, look))).size, size);
    let came = 0;
    let pieces = 0;
    for await (const piece of await files.readStream("/workspace/big")) {
      came += piece.length;
      await look(pieces++);
    }
    assert.equal(came, size);
    assert(most < size / 3, `${most} bytes were held`);
  }),

  refusedUpload: () => withSandbox(async ({ files }) => {
    for (const content of [new Uint8Array(20 * 1024 * 1024), blocks(320, () => {})]) {
      await refused(files.write("/workspace/big", content), DiskFull, "disk_full");
    }
    assert.equal((await files.write("/workspace/small", "x")).size, 1);
  }, { limits: { diskMb: 16 } }),

  endlessUpload: () => withSandbox(async (sandbox) => {
    let isRefusing = false; // the sandbox is made by the server that has one
    const url = process.env.REFUSES;
    const ask = (target, request) => fetch(isRefusing ? target : target.replace(url, process.env.AGENT_SANDBOX_URL), request);
    const { files } = await new Client({ url, fetch: ask }).sandboxes.get(sandbox.id);
    isRefusing = true;
    await refused(files.write("/workspace/endless", blocks(Infinity, () => {})), DiskFull, "disk_full");
  }),

  serverInside: () => withSandbox(async (sandbox) => {
    await sandbox.files.write("/workspace/page.txt", "from inside");
    const server = await sandbox.start(["python3", "-u", "-m", "http.server", "8000"]);
    for await (const event of server.outputStream()) if (String(event.data).includes("Serving")) break;
    assert.equal(await (await fetch(sandbox.portUrl(8000, "/page.txt", { withToken: true }))).text(), "from inside");
    const { pathname, search, protocol } = new URL(sandbox.tunnelUrl(8000, { withToken: true }));
    assert.deepEqual([protocol, pathname, search], ["ws:", `/v1/sandboxes/${sandbox.id}/tunnel`, `?port=8000&access_token=${sandbox.details.accessToken}`]);
    assert.ok(sandbox.tunnelUrl(8000).endsWith("/tunnel?port=8000"));
  }),

  async server() {
    await client.execute("print(1)", { timeoutSeconds: 60 });
    assert.equal((await client.health()).status, "ok");
    assert((await client.stats()).byStatus.success > 0);
    assert((await client.templates()).find((each) => each.name === "data").imports.includes("pandas"));
    assert.match(await client.metrics(), /# HELP/);
    assert.equal((await client.openapi()).openapi, "3.1.0");
    assert.deepEqual([(await client.lessons.list()).lessons, await client.lessons.eraseAll()], [[], 0]);
  },

  terminal: () => withSandbox(async (sandbox) => {
    const { default: WebSocket } = await import(process.env.WS);
    const { url, headers } = sandbox.terminalRequest({ columns: 90, rows: 20, command: "stty size; exit 5" });
    const socket = new WebSocket(url, { headers });
    const shown = [];
    const closed = new Promise((done) => { socket.on("close", done); });
    const last = await new Promise((done, fail) => {
      socket.on("error", fail);
      socket.on("message", (content, isBinary) => (isBinary ? shown.push(content) : done(JSON.parse(content))));
    });
    await closed;
    assert.equal(last.exit_code, 5);
    assert.match(Buffer.concat(shown).toString(), /20 90/);
  }),

  async brokenAnswers() {
    const event = '{"type":"started","data":{},"timestamp":"","seq":1}\n';
    const problem = '{"type":"error","data":{"status":503,"code":"stopping","detail":"d"},"timestamp":"","seq":1}\n';
    const head = (length, status = "200 OK") => `HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: ${length}\r\n\r\n`;
    const cases = [
      ["", ConnectionFailed], ["SSH-2.0\r\n\r\n", ConnectionFailed], [`${head(9)}{}`, ConnectionFailed],
      [`${head(6)}<html>`, UnexpectedAnswer], [`${head(6, "502 Bad Gateway")}<html>`, ServerFailure],
      [head(event.length) + event, BrokenStream, true], [head(event.length + 1) + event, BrokenStream, true],
      [head(problem.length) + problem, ServerFailure, true],
    ];
    for (const [answer, Kind, isStream] of cases) {
      const server = createServer((socket) => socket.on("error", () => {}).once("data", () => socket.end(answer)));
      await new Promise((done) => server.listen(0, "127.0.0.1", done));
      const other = new Client({ url: `http://127.0.0.1:${server.address().port}` });
      const error = await (isStream ? other.executeStream("1").last() : other.health()).catch((thrown) => thrown);
      assert.equal(error.constructor === Kind || (Kind === ServerFailure && error instanceof Kind), true, `${answer}: ${error.stack}`);
      server.close();
    }
  },

  async tasks() {
    const result = await client.run("Solve it", { maxAttempts: 2 });
    assert.deepEqual([result.success, result.output, result.attempts], [true, "42\n", 2]);
    assert.deepEqual(result.history.map((attempt) => attempt.executionResult.status), ["error", "success"]);
  },

  async keys() {
    assert.equal((await new Client({ key: process.env.KEY }).execute("print(42)", { timeoutSeconds: 60 })).stdout, "42\n");
    await refused(client.execute("1"), Unauthorized, "unauthorized");
    await refused(new Client({ key: "another" }).execute("1"), Unauthorized, "unauthorized");
    assert.deepEqual(await client.health(), { status: "ok" });
  },

  async volumes() {
    const made = await client.volumes.create("data", { sizeMb: 20 });
    assert.deepEqual([made.name, made.sizeMb, made.sandboxes], ["data", 20, []]);
    const writer = await client.sandboxes.create({ volumes: [{ volume: "data", path: "/data" }] });
    await writer.run("echo text > /data/file");
    assert.deepEqual(writer.details.volumes, [{ volume: "data", path: "/data", readOnly: false }]);
    assert.deepEqual((await client.volumes.get("data")).sandboxes, [{ id: writer.id, path: "/data", readOnly: false }]);
    await refused(client.volumes.delete("data"), Conflict, "volume_in_use");
    await writer.delete();
    const copy = await client.volumes.create("copy", { copyOf: made.id });
    const ids = [];
    for await (const each of client.volumes.iterate()) ids.push(each.id);
    assert.deepEqual(ids, [copy.id, made.id]);
    const renamed = await client.volumes.change("copy", { name: "second", sizeMb: 30 });
    assert.deepEqual([renamed.id, renamed.name, renamed.sizeMb], [copy.id, "second", 30]);
    await refused(client.volumes.change("data", { name: "second" }), Conflict, "name_taken");
    assert.equal((await client.volumes.change("second", { name: "copy" })).name, "copy");
    const reader = await client.sandboxes.create({ volumes: [{ volume: "copy", path: "/data", readOnly: true }] });
    assert.equal((await reader.run("cat /data/file")).stdout, "text\n");
    await reader.delete();
    for (const name of ["data", "copy"]) await client.volumes.delete(name);
    assert.deepEqual((await client.volumes.list({ limit: 1 })).volumes, []);
  },

  async webhooks() {
    const made = await client.webhooks.create("http://127.0.0.1:9/x", ["created"], { name: "n" });
    assert.deepEqual((await client.webhooks.list()).map((each) => [each.id, each.name]), [[made.id, "n"]]);
    assert.equal((await client.webhooks.change(made.id, { enabled: false })).enabled, false);
    assert.notEqual((await client.webhooks.replaceSecret(made.id, { previousSeconds: 60 })).secret, made.secret);
    assert.equal((await client.webhooks.test(made.id)).delivered, false);
    await client.webhooks.delete(made.id);
    await refused(client.webhooks.get(made.id), NotFound, "no_such_webhook");
  },
};

await checks[name]();
const timers = process.getActiveResourcesInfo().filter((kind) => kind === "Timeout");
assert.deepEqual(timers, [], "a timer is left");
console.log("done");
process.exit(); // connections that wait would keep it for some seconds
