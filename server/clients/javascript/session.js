// Requests to one server: refusals as errors, JSON, bytes and events. What is asked for is in agent_sandbox.js.

import {
  AnswerTimeout, ApiError, BadRequest, BrokenStream, Conflict, ConnectionFailed, DiskFull, Forbidden, InvalidAddress, NoProvider,
  NotFound, SandboxError, ServerFailure, TooLarge, TooManyRequests, Unauthorized, Unavailable, UnexpectedAnswer,
} from "./errors.js";

const DEFAULT_URL = "http://127.0.0.1:8000";
const NDJSON = "application/x-ndjson";

// A slower upload than this is given up, where its bytes cannot be seen going.
const LEAST_BYTES_PER_SECOND = 64 * 1024;

const BY_STATUS = {
  400: BadRequest, 401: Unauthorized, 403: Forbidden, 404: NotFound, 409: Conflict, 413: TooLarge, 424: NoProvider,
  429: TooManyRequests, 503: Unavailable, 507: DiskFull,
};

/** The error for a refusal. */
function refusal(status, problem, headers) {
  const Kind = BY_STATUS[status] ?? (status >= 500 ? ServerFailure : ApiError);
  return new Kind(status, problem, headers);
}

// Members whose own members are words of the caller, the operator or the interface, and no names of fields.
const OF_WORDS = new Set(["metadata", "by_status", "by_language", "rejected", "pools", "tasks", "usage"]);
const FIELD_NAMES = { start: "from", end: "to" };

/** An answer with its names as JavaScript writes them. */
export function fromJson(value, areWords = false) {
  if (Array.isArray(value)) return value.map((each) => fromJson(each));
  if (value === null || typeof value !== "object") return value;
  const named = (name) => (areWords ? name : name.replace(/_([a-z0-9])/g, (_, letter) => letter.toUpperCase()));
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [named(name), fromJson(each, OF_WORDS.has(name))]));
}

export function toBase64(bytes) {
  let text = "";
  for (let start = 0; start < bytes.length; start += 0x8000) text += String.fromCharCode(...bytes.subarray(start, start + 0x8000));
  return btoa(text);
}

const snake = (name) => FIELD_NAMES[name] ?? name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** The fields of a request, as the interface names them; what is undefined is left out. */
export function fieldsOf(options) {
  const fields = {};
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined || name === "signal" || name === "answerSeconds") continue;
    if (name === "limits") fields.limits = fieldsOf(value);
    else if (name === "volumes") fields.volumes = value.map?.(fieldsOf) ?? value;
    else if (name === "files") fields.files = Object.fromEntries(Object.entries(value).map(([path, content]) =>
      [path, content instanceof Uint8Array ? { base64: toBase64(content) } : content]));
    else fields[snake(name)] = value;
  }
  return fields;
}

export function targetOf(path, query = {}) {
  const words = Object.entries(query).filter(([, value]) => value !== undefined && value !== null);
  return path + (words.length ? `?${words.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join("&")}` : "");
}

/** Bounds how long the server says nothing, and ends with the caller's signal. */
class Patience {
  constructor(seconds, signal) {
    this.controller = new AbortController();
    this.isOver = false;
    this.seconds = seconds;
    this.signal = signal;
    this.leave = () => this.controller.abort(signal.reason);
    if (signal?.aborted) this.leave();
    signal?.addEventListener("abort", this.leave);
    this.renew();
  }
  renew() {
    if (this.isOver) return; // the rest of an upload that was refused
    clearTimeout(this.timer);
    const expire = () => this.controller.abort(new AnswerTimeout(`the server said nothing for ${this.seconds} s`));
    this.timer = setTimeout(expire, Math.min(this.seconds * 1000, 0x7fffffff));
  }
  end() {
    this.isOver = true;
    clearTimeout(this.timer);
    this.signal?.removeEventListener("abort", this.leave);
  }
  /** What is thrown for `error`, which fetch or a reader threw. */
  explained(error) {
    this.end();
    if (this.controller.signal.aborted) return this.controller.signal.reason;
    return error instanceof SandboxError ? error : new ConnectionFailed(`${error.message}: ${error.cause?.message ?? ""}`, { cause: error });
  }
}

/** Reads in turn what `next` promises, as a stream that takes no more than is asked for. */
function streamOf(next, cancel) {
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel,
  }, { highWaterMark: 0 });
}

const CLIENT_OPTIONS = ["url", "key", "answerSeconds", "fetch"];

/** The options of a client. What is none of them is refused: a client that left it out would talk to another server than is meant. */
function checkedOptions(options) {
  const taken = "expected an object such as { url, key, answerSeconds, fetch }";
  if (options === null || typeof options !== "object") throw new TypeError(`the options of Client: ${taken}, not ${JSON.stringify(options)}`);
  const unknown = Object.keys(options).find((name) => !CLIENT_OPTIONS.includes(name));
  if (unknown !== undefined) throw new TypeError(`${unknown} is no option of Client: ${taken}`);
  if (typeof (options.url ?? "") !== "string") throw new TypeError("the option url of Client: expected a string");
  return options;
}

export class Session {
  constructor(options = {}) {
    const { url, key, answerSeconds = 60, fetch } = checkedOptions(options);
    const environment = globalThis.process?.env ?? {};
    this.url = (url ?? (environment.AGENT_SANDBOX_URL || globalThis.location?.origin || DEFAULT_URL)).replace(/\/+$/, "");
    const key_ = key ?? environment.AGENT_SANDBOX_KEY;
    this.answerSeconds = answerSeconds;
    this.fetch = fetch ?? ((...request) => globalThis.fetch(...request));
    if (!/^https?:\/\/[!-~]+$/.test(this.url) || /[?#@]/.test(this.url)) {
      throw new InvalidAddress(`${this.url}: expected http://HOST:PORT or https://, without a user, ? and #`);
    }
    if (key_ && !/^[!-~]+$/.test(key_)) throw new InvalidAddress("the key: expected one without blanks, as in AGENT_SANDBOX_KEY");
    this.headers = key_ ? { Authorization: `Bearer ${key_}` } : {};
  }

  /** The answer with a body that is read in pieces, unless it is a refusal, which is thrown. */
  async open(method, path, { query, body, content, type, headers, accept = "application/json", signal, answerSeconds } = {}) {
    const patience = new Patience(answerSeconds ?? this.answerSeconds, signal);
    const request = { method, headers: { Accept: accept, ...this.headers, ...headers }, signal: patience.controller.signal, redirect: "manual" };
    if (body !== undefined) {
      request.body = JSON.stringify(body);
      request.headers["Content-Type"] = "application/json";
    } else if (content !== undefined) {
      this.#send(request, content, patience);
      request.headers["Content-Type"] = type;
    }
    let response;
    try {
      response = await this.fetch(this.url + targetOf(path, query), request);
    } catch (error) {
      throw patience.explained(error);
    }
    const opened = { headers: response.headers, patience, body: this.#readable(response, patience) };
    if (response.status < 200 || response.status > 299) throw await this.#refusal(response, opened);
    return opened;
  }

  async bytes(method, path, request) {
    const { body } = await this.open(method, path, request);
    return new Uint8Array(await new Response(body).arrayBuffer());
  }

  async text(method, path, request) {
    return new TextDecoder().decode(await this.bytes(method, path, request));
  }

  async json(method, path, request) {
    return fromJson(await this.plainJson(method, path, request));
  }

  async plainJson(method, path, request) {
    const text = await this.text(method, path, request);
    try {
      return JSON.parse(text);
    } catch (error) {
      throw new UnexpectedAnswer(`${this.url}: expected JSON: ${text.slice(0, 100)}`, { cause: error });
    }
  }

  #send(request, content, patience) {
    const size = content.byteLength ?? content.size ?? content.length;
    if (size !== undefined) {
      request.body = content;
      patience.seconds += size / LEAST_BYTES_PER_SECOND;
      patience.renew();
      return;
    }
    const pieces = (content[Symbol.asyncIterator] ? content : readPieces(content))[Symbol.asyncIterator]();
    const next = async () => {
      patience.renew();
      // Node reads nothing, and so no refusal either, while one promise follows another.
      if (globalThis.setImmediate) await new Promise((done) => setImmediate(done));
      return pieces.next();
    };
    request.body = streamOf(next, () => pieces.return?.());
    // With these fetch keeps no second copy of the stream, which it would need for a redirect or a login.
    Object.assign(request, { duplex: "half", redirect: "error", window: null });
  }

  #readable(response, patience) {
    if (!response.body) {
      patience.end();
      return new Response("").body ?? streamOf(async () => ({ done: true }));
    }
    const reader = response.body.getReader();
    const next = async () => {
      try {
        const piece = await reader.read();
        if (piece.done) patience.end();
        else patience.renew();
        return piece;
      } catch (error) {
        throw patience.explained(error);
      }
    };
    return streamOf(next, (reason) => {
      patience.end();
      return reader.cancel(reason);
    });
  }

  async #refusal(response, { body }) {
    const text = await new Response(body).text();
    let problem;
    try {
      problem = JSON.parse(text);
    } catch {
      problem = null; // a proxy answers in words of its own
    }
    return refusal(response.status, problem && typeof problem === "object" ? problem : { detail: text.slice(0, 500) }, response.headers);
  }
}

/** For browsers whose streams are no iterators. */
async function* readPieces(stream) {
  const reader = stream.getReader();
  for (let piece = await reader.read(); !piece.done; piece = await reader.read()) yield piece.value;
}

/** Events as they come. They are asked for when the first is read; leaving the loop, or `close()`, leaves them. */
export class EventStream {
  #session; #request; #last; #reader = null; #patience = null; #isOver = false;

  constructor(session, request, last) {
    this.#session = session;
    this.#request = request;
    this.#last = last;
  }

  async *[Symbol.asyncIterator]() {
    try {
      for await (const line of this.#lines()) {
        const event = JSON.parse(line);
        if (event.type === "heartbeat") continue;
        if (event.type === "error") throw refusal(event.data.status, event.data);
        yield { ...event, data: fromJson(event.data) };
        if (event.type === this.#last) return;
      }
      throw new BrokenStream("the stream ended without its last event");
    } finally {
      await this.close();
    }
  }

  /** Reads to the end, and returns the last event. */
  async last() {
    let last;
    for await (const event of this) last = event;
    return last;
  }

  /** Leaves. What was asked for by it alone, as a program in the foreground, ends. */
  async close() {
    this.#isOver = true;
    this.#patience?.end();
    this.#patience?.controller.abort(new BrokenStream("it was closed"));
    await this.#reader?.cancel().catch(() => {}); // it may have failed, which was told then
  }

  async *#lines() {
    if (this.#isOver) throw new BrokenStream("it was closed");
    const [method, path, request] = this.#request;
    const opened = await this.#session.open(method, path, { ...request, accept: NDJSON });
    this.#patience = opened.patience;
    this.#reader = opened.body.getReader();
    const decoder = new TextDecoder();
    let held = []; // the beginning of a line, in pieces
    for (let piece = await this.#read(); !piece.done; piece = await this.#read()) {
      const lines = decoder.decode(piece.value, { stream: true }).split("\n");
      held.push(lines.shift());
      if (lines.length === 0) continue;
      yield held.join("");
      held = [lines.pop()];
      yield* lines;
    }
  }

  async #read() {
    try {
      return await this.#reader.read();
    } catch (error) {
      if (error instanceof AnswerTimeout || !(error instanceof ConnectionFailed)) throw error;
      throw new BrokenStream(error.message, { cause: error });
    }
  }
}
