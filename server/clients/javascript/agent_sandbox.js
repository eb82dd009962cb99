// A client of agent-sandbox for Node 18 and later and for browsers, without dependencies. agent_sandbox.d.ts has its types.
import { NotFound } from "./errors.js";
import { EventStream, Session, fieldsOf, targetOf, toBase64 } from "./session.js";

export * from "./errors.js";
export { EventStream } from "./session.js";

const TAR = "application/x-tar";
// What a program or a test of a webhook takes at most where the operator changed nothing, and how long a suite of tasks and the copy of
// a volume are waited for.
const LONGEST_PROGRAM_SECONDS = 60;
const LONGEST_TEST_SECONDS = 10;
const LONGEST_COPY_SECONDS = 3600;
const LONGEST_SUITE_SECONDS = 3600;
const MOST_KEPT_OUTPUT = 1024 * 1024;

/** What of the options is about the call and no field of the request. */
const callOf = ({ signal, answerSeconds }) => ({ signal, answerSeconds });

/** A request with its options as fields of its body. */
const withBody = (options, fields = {}) => ({ ...callOf(options), body: { ...fieldsOf(options), ...fields } });

/** A request with its options behind the ?. */
const withQuery = (options, query = {}) => ({ ...callOf(options), query: { ...fieldsOf(options), ...query } });

function filePath(path) {
  if (!path.startsWith("/")) throw new TypeError(`${path}: expected an absolute path in the sandbox, such as /workspace/${path}`);
  return path.slice(1).split("/").map(encodeURIComponent).join("/");
}

/** All entries of a list that comes in pages. */
async function* allOf(list, members, options) {
  for (let page = await list({ limit: 200, ...options }); ; page = await list({ limit: 200, ...options, cursor: page.nextCursor })) {
    yield* page[members];
    if (page.nextCursor === null) return;
  }
}

/** One server. */
export class Client {
  #session;

  constructor(options = {}) {
    this.#session = new Session(options);
    this.sandboxes = new Sandboxes(this.#session);
    this.jobs = new Jobs(this.#session);
    this.lessons = new Lessons(this.#session);
    this.volumes = new Volumes(this.#session);
    this.webhooks = new Webhooks(this.#session);
  }

  execute(code, options = {}) {
    const longest = this.#session.answerSeconds + (options.timeoutSeconds ?? LONGEST_PROGRAM_SECONDS);
    return this.#session.json("POST", "/execute", { answerSeconds: longest, ...definedOf(withBody(options, { code })) });
  }
  executeStream(code, options = {}) {
    return new EventStream(this.#session, ["POST", "/execute", withBody(options, { code })], "complete");
  }
  /** By the stream of the task, in which the server says now and then that it works, however long it takes. */
  async run(task, options = {}) {
    return (await this.runStream(task, options).last()).data;
  }
  runStream(task, options = {}) {
    return new EventStream(this.#session, ["POST", "/execute", withBody(options, { task })], "complete");
  }
  benchmark(options = {}) {
    const longest = this.#session.answerSeconds + LONGEST_SUITE_SECONDS;
    return this.#session.json("POST", "/benchmark", { answerSeconds: longest, ...definedOf(withBody(options)) });
  }
  audit(options = {}) {
    return this.#session.json("GET", "/v1/audit", withQuery(options));
  }
  auditStream(options = {}) {
    return new EventStream(this.#session, ["GET", "/v1/audit", withQuery(options)], "end");
  }
  async templates(options = {}) {
    return (await this.#session.json("GET", "/v1/templates", callOf(options))).templates;
  }
  template(name, options = {}) {
    return this.#session.json("GET", `/v1/templates/${encodeURIComponent(name)}`, callOf(options));
  }
  health(options = {}) {
    return this.#session.json("GET", "/health", callOf(options));
  }
  stats(options = {}) {
    return this.#session.json("GET", "/stats", callOf(options));
  }
  metrics(options = {}) {
    return this.#session.text("GET", "/metrics", { ...callOf(options), accept: "text/plain" });
  }
  openapi(options = {}) {
    return this.#session.plainJson("GET", "/openapi.json", callOf(options));
  }
}

const definedOf = (members) => Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));

class Jobs {
  #session;
  constructor(session) {
    this.#session = session;
  }
  list(options = {}) {
    return this.#session.json("GET", "/jobs", withQuery(options));
  }
  iterate(options = {}) {
    return allOf((page) => this.list(page), "jobs", options);
  }
  get(jobId, options = {}) {
    return this.#session.json("GET", `/jobs/${encodeURIComponent(jobId)}`, callOf(options));
  }
  stream(jobId, options = {}) {
    return new EventStream(this.#session, ["GET", `/jobs/${encodeURIComponent(jobId)}`, callOf(options)], "complete");
  }
  async cancel(jobId, options = {}) {
    await this.#session.bytes("DELETE", `/jobs/${encodeURIComponent(jobId)}`, callOf(options));
  }
  async signal(jobId, signal, options = {}) {
    await this.#session.bytes("POST", `/jobs/${encodeURIComponent(jobId)}/signal`, { ...callOf(options), body: { signal } });
  }
}

class Lessons {
  #session;
  constructor(session) {
    this.#session = session;
  }
  list(options = {}) {
    return this.#session.json("GET", "/lessons", withQuery(options));
  }
  async erase(lessonId, options = {}) {
    return (await this.#session.json("DELETE", `/lessons/${encodeURIComponent(lessonId)}`, callOf(options))).erased;
  }
  async eraseAll(options = {}) {
    return (await this.#session.json("DELETE", "/lessons", callOf(options))).erased;
  }
}

class Volumes {
  #session;
  constructor(session) {
    this.#session = session;
  }
  #path(volumeId) {
    return `/v1/volumes/${encodeURIComponent(volumeId)}`;
  }
  /** A copy is answered when all of it is made. */
  create(name, options = {}) {
    const longest = this.#session.answerSeconds + (options.copyOf === undefined ? 0 : LONGEST_COPY_SECONDS);
    return this.#session.json("POST", "/v1/volumes", { answerSeconds: longest, ...definedOf(withBody(options, { name })) });
  }
  get(volumeId, options = {}) {
    return this.#session.json("GET", this.#path(volumeId), callOf(options));
  }
  change(volumeId, options = {}) {
    return this.#session.json("PATCH", this.#path(volumeId), withBody(options));
  }
  list(options = {}) {
    return this.#session.json("GET", "/v1/volumes", withQuery(options));
  }
  iterate(options = {}) {
    return allOf((page) => this.list(page), "volumes", options);
  }
  async delete(volumeId, options = {}) {
    await this.#session.bytes("DELETE", this.#path(volumeId), callOf(options));
  }
}

class Webhooks {
  #session;
  constructor(session) {
    this.#session = session;
  }
  #path(webhookId, what = "") {
    return `/v1/webhooks/${encodeURIComponent(webhookId)}${what}`;
  }
  create(url, events, options = {}) {
    return this.#session.json("POST", "/v1/webhooks", withBody(options, { url, events }));
  }
  async list(options = {}) {
    return (await this.#session.json("GET", "/v1/webhooks", callOf(options))).webhooks;
  }
  get(webhookId, options = {}) {
    return this.#session.json("GET", this.#path(webhookId), callOf(options));
  }
  change(webhookId, options = {}) {
    return this.#session.json("PATCH", this.#path(webhookId), withBody(options));
  }
  async delete(webhookId, options = {}) {
    await this.#session.bytes("DELETE", this.#path(webhookId), callOf(options));
  }
  replaceSecret(webhookId, options = {}) {
    return this.#session.json("POST", this.#path(webhookId, "/secret"), withBody(options));
  }
  test(webhookId, options = {}) {
    const longest = this.#session.answerSeconds + LONGEST_TEST_SECONDS;
    return this.#session.json("POST", this.#path(webhookId, "/test"), { answerSeconds: longest, ...definedOf(callOf(options)) });
  }
}

class Sandboxes {
  #session;
  constructor(session) {
    this.#session = session;
  }
  async create(options = {}) {
    return new Sandbox(this.#session, await this.#session.json("POST", "/v1/sandboxes", withBody(options)));
  }
  async get(sandboxId, options = {}) {
    return new Sandbox(this.#session, await this.#session.json("GET", `/v1/sandboxes/${encodeURIComponent(sandboxId)}`, callOf(options)));
  }
  list(options = {}) {
    return this.#session.json("GET", "/v1/sandboxes", withQuery(options));
  }
  iterate(options = {}) {
    return allOf((page) => this.list(page), "sandboxes", options);
  }
}

/** One sandbox. `details` is how it stood when it was last asked for; `refresh()` asks again. */
export class Sandbox {
  #session;
  constructor(session, details) {
    this.#session = session;
    this.details = details;
    this.path = `/v1/sandboxes/${details.id}`;
    this.files = new Files(session, this.path);
    this.processes = new Processes(session, this.path);
  }
  get id() {
    return this.details.id;
  }
  get name() {
    return this.details.name;
  }
  get state() {
    return this.details.state;
  }
  run(command, options) {
    return this.processes.run(command, options);
  }
  runStream(command, options) {
    return this.processes.runStream(command, options);
  }
  start(command, options) {
    return this.processes.start(command, options);
  }
  refresh(options = {}) {
    return this.#changed("GET", "", callOf(options));
  }
  change(options) {
    return this.#changed("PATCH", "", withBody(options));
  }
  renew(timeoutSeconds, options = {}) {
    return this.change({ ...options, timeoutSeconds });
  }
  pause(options = {}) {
    return this.#changed("POST", "/pause", callOf(options));
  }
  resume(options = {}) {
    return this.#changed("POST", "/resume", callOf(options));
  }
  renewToken(options = {}) {
    return this.#changed("POST", "/token", callOf(options));
  }
  async delete(options = {}) {
    await this.#session.bytes("DELETE", this.path, callOf(options));
  }
  events(options = {}) {
    return this.#session.json("GET", `${this.path}/events`, withQuery(options));
  }
  eventsStream(options = {}) {
    return new EventStream(this.#session, ["GET", `${this.path}/events`, withQuery(options, { follow: true })], "end");
  }
  logs(options = {}) {
    return this.#session.json("GET", `${this.path}/logs`, withQuery(options));
  }
  logsStream(options = {}) {
    return new EventStream(this.#session, ["GET", `${this.path}/logs`, withQuery(options, { follow: true })], "end");
  }
  metrics(options = {}) {
    return this.#session.json("GET", `${this.path}/metrics`, withQuery(options));
  }
  /** Where a server in it is reached that listens on `port`. With its access token the address opens it without a key. */
  portUrl(port, path = "/", { withToken = false } = {}) {
    const { domain, accessToken } = this.details;
    const server = new URL(this.#session.url);
    const own = `${server.protocol}//${port}-${this.id}.${domain}${server.port && `:${server.port}`}`;
    const url = `${domain ? own : `${this.#session.url}${this.path}/ports/${port}`}/${path.replace(/^\/+/, "")}`;
    return withToken && accessToken ? `${url}${path.includes("?") ? "&" : "?"}access_token=${accessToken}` : url;
  }
  /** Where a WebSocket carries the bytes of a TCP connection to `port`. With its access token the URL opens it without a key. */
  tunnelUrl(port, { withToken = false } = {}) {
    const { accessToken } = this.details;
    const token = withToken && accessToken ? `&access_token=${accessToken}` : "";
    return `${this.#session.url.replace(/^http/, "ws")}${this.path}/tunnel?port=${port}${token}`;
  }
  /** What a client of WebSockets that can send headers, such as `ws`, opens a terminal with. A browser's sends no key. */
  terminalRequest(options = {}) {
    const url = this.#session.url.replace(/^http/, "ws") + targetOf(`${this.path}/terminal`, fieldsOf(options));
    return { url, headers: { ...this.#session.headers } };
  }
  async #changed(method, what, request) {
    this.details = await this.#session.json(method, this.path + what, request);
    return this.details;
  }
}

// A command, or code, which is an object.
const bodyOf = (command) => (typeof command === "string" || Array.isArray(command) ? { command } : { ...command });

class Processes {
  #session; #path;
  constructor(session, sandboxPath) {
    this.#session = session;
    this.#path = `${sandboxPath}/processes`;
  }
  /** By the stream of the command, in which the server says now and then that it works, however long it takes. */
  async run(command, options = {}) {
    const kept = { stdout: "", stderr: "" };
    const truncated = { stdout: false, stderr: false };
    // Pieces of base64 are no base64 when they are put together.
    if (options.outputEncoding === "base64") return this.#session.json("POST", this.#path, withBody(options, bodyOf(command)));
    for await (const { type, data } of this.runStream(command, options)) {
      if (type === "exit") {
        return { ...data, ...kept, stdoutTruncated: truncated.stdout, stderrTruncated: truncated.stderr };
      }
      if (type !== "stdout" && type !== "stderr") continue;
      const room = MOST_KEPT_OUTPUT - kept[type].length;
      truncated[type] ||= data.length > room;
      kept[type] += data.slice(0, room);
    }
  }
  runStream(command, options = {}) {
    return new EventStream(this.#session, ["POST", this.#path, withBody(options, bodyOf(command))], "exit");
  }
  async start(command, options = {}) {
    return this.#process(await this.#session.json("POST", this.#path, withBody(options, { ...bodyOf(command), background: true })));
  }
  async list(options = {}) {
    return (await this.#session.json("GET", this.#path, callOf(options))).processes;
  }
  async get(pid, options = {}) {
    return this.#process(await this.#session.json("GET", `${this.#path}/${Number(pid)}`, callOf(options)));
  }
  #process(details) {
    return new Process(this.#session, this.#path, details);
  }
}

/** One process. `details` is how it stood when it was last asked for; `refresh()` asks again. */
export class Process {
  #session;
  constructor(session, processesPath, details) {
    this.#session = session;
    this.details = details;
    this.path = `${processesPath}/${details.pid}`;
  }
  get pid() {
    return this.details.pid;
  }
  async refresh(options = {}) {
    this.details = await this.#session.json("GET", this.path, callOf(options));
    return this.details;
  }
  /** Until it has ended. `onOutput` is called with stdout or stderr, and what came, from the beginning of what is kept. */
  async wait({ onOutput, ...options } = {}) {
    for await (const { type, data } of this.outputStream(options)) {
      if (type === "stdout" || type === "stderr") onOutput?.(type, data);
      else if (type === "exit") this.details = data;
    }
    return this.details;
  }
  output(options = {}) {
    return this.#session.json("GET", `${this.path}/output`, withQuery(options));
  }
  outputStream(options = {}) {
    return new EventStream(this.#session, ["GET", `${this.path}/output`, withQuery(options)], "exit");
  }
  async write(data, options = {}) {
    const typed = data instanceof Uint8Array ? { data: toBase64(data), encoding: "base64" } : { data };
    await this.#session.bytes("POST", `${this.path}/stdin`, withBody(options, typed));
  }
  closeInput(options = {}) {
    return this.write("", { ...options, close: true });
  }
  async signal(signal, { group, ...options } = {}) {
    const body = fieldsOf({ group });
    await this.#session.bytes("POST", `${this.path}/signal`, { ...callOf(options), body: { ...body, signal } });
  }
  async resize(columns, rows, options = {}) {
    await this.#session.bytes("POST", `${this.path}/resize`, withBody(options, { columns, rows }));
  }
  async delete(options = {}) {
    await this.#session.bytes("DELETE", this.path, callOf(options));
  }
}

class Files {
  #session; #sandboxPath;
  constructor(session, sandboxPath) {
    this.#session = session;
    this.#sandboxPath = sandboxPath;
  }
  #path(path) {
    return `${this.#sandboxPath}/files/${filePath(path)}`;
  }
  read(path, options = {}) {
    return this.#session.bytes("GET", this.#path(path), { ...callOf(options), accept: "*/*" });
  }
  readText(path, options = {}) {
    return this.#session.text("GET", this.#path(path), { ...callOf(options), accept: "*/*" });
  }
  async readStream(path, { start, end, ...options } = {}) {
    const headers = start === undefined && end === undefined ? {} : { Range: `bytes=${start ?? 0}-${end === undefined ? "" : end - 1}` };
    return (await this.#session.open("GET", this.#path(path), { ...callOf(options), headers, accept: "*/*" })).body;
  }
  write(path, content, { mode, ...options } = {}) {
    return this.#session.json("PUT", this.#path(path), { ...callOf(options), query: { mode }, content, type: "application/octet-stream" });
  }
  async readTree(path, options = {}) {
    return (await this.#session.open("GET", this.#path(path), { ...callOf(options), query: { tar: true }, accept: TAR })).body;
  }
  writeTree(path, archive, options = {}) {
    return this.#session.json("PUT", this.#path(path), { ...callOf(options), content: archive, type: TAR });
  }
  stat(path, options = {}) {
    return this.#session.json("GET", this.#path(path), { ...callOf(options), query: { stat: true } });
  }
  async exists(path, options = {}) {
    try {
      await this.stat(path, options);
      return true;
    } catch (error) {
      if (error instanceof NotFound && error.code === "no_such_file") return false;
      throw error;
    }
  }
  list(path, { depth, ...options } = {}) {
    return this.#session.json("GET", this.#path(path), { ...callOf(options), query: { list: true, depth } });
  }
  move(path, moveTo, options = {}) {
    return this.#session.json("POST", this.#path(path), withBody(options, { move_to: moveTo }));
  }
  makeDirectory(path, options = {}) {
    return this.#session.json("POST", this.#path(path), withBody(options, { make_directory: true }));
  }
  async remove(path, { recursive, ...options } = {}) {
    await this.#session.bytes("DELETE", this.#path(path), { ...callOf(options), query: { recursive } });
  }
  search(query, options = {}) {
    return this.#session.json("GET", `${this.#sandboxPath}/search`, withQuery(options, { query }));
  }
  sign(path, options = {}) {
    return this.#session.json("POST", `${this.#sandboxPath}/sign`, withBody(options, { path }));
  }
  watch(path, options = {}) {
    return new EventStream(this.#session, ["GET", `${this.#sandboxPath}/watch`, withQuery(options, { path })], "end");
  }
}
