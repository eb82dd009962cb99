// The types of agent_sandbox.js.
import type {
  BenchmarkReport, CreatedWebhook, FileEntry, FileList, Health, Job, JobPage, JobSummary, LessonPage, ProcessDetails, ProcessOutput,
  ProcessResult, RunResult, SandboxDetails, SandboxEvent, SandboxEventPage, SandboxLogEntry, SandboxLogPage, SandboxMetrics,
  SandboxPage, SearchResult, SignedUrl, Stats, TaskResult, Template, Volume, VolumePage, Webhook, WebhookTry,
} from "./answers.js";

export * from "./answers.js";

/** Everything that this module throws by itself. */
export class SandboxError extends Error {}
/** The URL or the key of the server is none. */
export class InvalidAddress extends SandboxError {}
/** There is no connection to the server, or it broke off. What the request asked for may have happened. */
export class ConnectionFailed extends SandboxError {}
/** The server said nothing for so long that it was waited for no longer. */
export class AnswerTimeout extends ConnectionFailed {}
/** A stream of events ended without its last event. */
export class BrokenStream extends ConnectionFailed {}
/** The answer is not what the interface promises. */
export class UnexpectedAnswer extends SandboxError {}

/** The server refused the request, and says why (RFC 9457). */
export class ApiError extends SandboxError {
  /** Of HTTP. */
  readonly status: number;
  /** The whole of it as it came. */
  readonly problem: Record<string, unknown>;
  readonly title: string;
  /** One word for programs. */
  readonly code: string;
  /** What is wrong, and what is allowed. */
  readonly detail: string;
  /** The field of the request that it is about, where it is about one. */
  readonly field: string | null;
  readonly limit: number | null;
  readonly used: number | null;
  /** What the next request can do. */
  readonly remedy: string | null;
  /** What the server's log has of the request. */
  readonly requestId: string | null;
  /** There where a later try can succeed. */
  readonly retryAfterSeconds: number | null;
}
/** 400 */
export class BadRequest extends ApiError {}
/** 401 */
export class Unauthorized extends ApiError {}
/** 403 */
export class Forbidden extends ApiError {}
/** 404 */
export class NotFound extends ApiError {}
/** 409 */
export class Conflict extends ApiError {}
/** 413 */
export class TooLarge extends ApiError {}
/** 424: no language model is configured. */
export class NoProvider extends ApiError {}
/** 429 */
export class TooManyRequests extends ApiError {}
/** 5xx */
export class ServerFailure extends ApiError {}
/** 503 */
export class Unavailable extends ServerFailure {}
/** 507: the disk of the sandbox has no room for it. */
export class DiskFull extends ServerFailure {}

export interface ClientOptions {
  /** http://HOST:PORT or https://; by default AGENT_SANDBOX_URL, else the page's own origin, else http://127.0.0.1:8000. */
  url?: string;
  /** By default AGENT_SANDBOX_KEY. */
  key?: string;
  /** How long the server may say nothing; to it is added what a program may take. By default 60. */
  answerSeconds?: number;
  /** In place of the platform's. */
  fetch?: typeof globalThis.fetch;
}

export interface CallOptions {
  /** Ends the request. */
  signal?: AbortSignal;
  /** How long the server may say nothing. */
  answerSeconds?: number;
}

export type Network = "none" | { allow: string[] };
/** A header that the server adds to requests for a host; no program in the sandbox sees its value. */
export interface NetworkSecret {
  host: string;
  port?: number;
  header: string;
  value: string;
}
export type SandboxNetwork = "none" | { allow: string[]; secrets?: NetworkSecret[] };
export type Files = Record<string, string | Uint8Array>;
export type Encoding = "utf-8" | "base64";
/** A program in place of a command; its language is by default that of the sandbox's template. */
export interface Code {
  code: string;
  language?: "python" | "bash" | "javascript" | "typescript";
  args?: string[];
}
export type Command = string | string[] | Code;
/** What is sent as it is, or in pieces as they come. */
export type Content = string | Uint8Array | ArrayBuffer | Blob | ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>;

export interface CodeOptions extends CallOptions {
  language?: "python" | "bash" | "javascript" | "typescript";
  stdin?: string;
  args?: string[];
  env?: Record<string, string>;
  files?: Files;
  artifacts?: string[];
  timeoutSeconds?: number;
  memoryLimitMb?: number;
  template?: string;
  outputEncoding?: Encoding;
  network?: Network;
}

export interface TaskOptions extends CallOptions {
  maxAttempts?: number;
  tests?: string;
  writeTests?: boolean;
  files?: Files;
  artifacts?: string[];
  timeoutSeconds?: number;
  memoryLimitMb?: number;
  swarm?: boolean;
  candidates?: number;
  lessons?: boolean;
  provider?: string;
  model?: string;
}

export interface BenchmarkOptions extends CallOptions {
  suite?: string;
  maxProblems?: number;
  maxAttempts?: number;
  provider?: string;
  model?: string;
}

export interface SandboxOptions extends CallOptions {
  template?: string;
  name?: string;
  env?: Record<string, string>;
  workingDirectory?: string;
  metadata?: Record<string, string>;
  limits?: SandboxLimitOptions;
  /** What /workspace is; "directory": on the host's disk, where it may be larger than memory. */
  diskKind?: "memory" | "directory";
  /** Code of its template, python or data, begins with all modules of that imported. */
  warm?: boolean;
  /** Its lifetime; null: as long as the operator allows. */
  timeoutSeconds?: number | null;
  idleSeconds?: number | null;
  onTimeout?: "delete" | "pause";
  autoResume?: boolean;
  network?: SandboxNetwork;
  /** Each at a place where nothing else is, such as /data. */
  volumes?: { volume: string; path: string; readOnly?: boolean }[];
  /** Where servers in it will listen. */
  ports?: number[];
}

/** `cpu`: how many processors, such as 0.5; only where the server's sandboxes have cgroups. */
export interface SandboxLimitOptions {
  memoryMb?: number;
  processes?: number;
  diskMb?: number;
  cpu?: number;
}

export interface SandboxChanges extends CallOptions {
  timeoutSeconds?: number | null;
  idleSeconds?: number | null;
  metadata?: Record<string, string>;
  network?: SandboxNetwork;
  /** Those that are left out stay. */
  limits?: SandboxLimitOptions;
}

export interface CommandOptions extends CallOptions {
  env?: Record<string, string>;
  workingDirectory?: string;
  stdin?: string;
  pty?: { columns?: number; rows?: number };
  timeoutSeconds?: number;
  outputEncoding?: Encoding;
}

export interface StreamedCommandOptions extends CommandOptions {
  keepStdinOpen?: boolean;
}

export interface WebhookChanges extends CallOptions {
  url?: string;
  events?: string[];
  name?: string;
  enabled?: boolean;
}

export interface PageOptions extends CallOptions {
  limit?: number;
  cursor?: string;
}

export interface LogOptions extends CallOptions {
  /** The first byte that is wanted. */
  start?: number;
  /** In its place the latest lines, so many. */
  tail?: number;
  process?: number;
  stream?: "stdout" | "stderr";
  encoding?: Encoding;
}

export interface TerminalOptions {
  columns?: number;
  rows?: number;
  command?: string;
  pid?: number;
}

interface EventOf<Type extends string, Value> {
  type: Type;
  data: Value;
  timestamp: string;
  seq: number;
}

type Output = EventOf<"stdout" | "stderr", string>;

export type CodeEvent = Output | EventOf<"started", { jobId: string; language: string; outputEncoding: string }> | EventOf<"execution_result", RunResult> |
  EventOf<"complete", { jobId: string; status: string; success: boolean }>;
export type TaskEvent = EventOf<"complete", TaskResult> | EventOf<"token", string> |
  EventOf<"started" | "generating" | "code" | "executing" | "execution_result" | "critiquing" | "critique" | "retrying" | "swarm",
    Record<string, unknown>>;
export type JobEvent = Output | EventOf<"complete", Job> | EventOf<"token", string> |
  EventOf<"started" | "generating" | "code" | "executing" | "execution_result" | "critiquing" | "critique" | "retrying" | "swarm",
    Record<string, unknown>>;
export type ProcessEvent = Output | EventOf<"started" | "exit", ProcessDetails> | EventOf<"lost", unknown>;
export type FollowEvent = EventOf<"event", SandboxEvent> | EventOf<"log", SandboxLogEntry> |
  EventOf<"lost", { bytes?: number; events?: number }> | EventOf<"end", { reason: string }>;
export type FileEvent = EventOf<"created" | "written" | "attributes" | "removed", { path: string; directory: boolean }> |
  EventOf<"moved", { path: string; directory: boolean; from: string }> |
  EventOf<"watching", { path: string; recursive: boolean; directories: number }> | EventOf<"overflow", unknown> |
  EventOf<"end", { reason: string }>;

/** Events as they come. They are asked for when the first is read; leaving the loop, or `close()`, leaves them. */
export class EventStream<Event> implements AsyncIterable<Event> {
  private constructor();
  [Symbol.asyncIterator](): AsyncGenerator<Event, void, undefined>;
  /** Reads to the end, and returns the last event. */
  last(): Promise<Event>;
  /** Leaves. What was asked for by it alone, as a program in the foreground, ends. */
  close(): Promise<void>;
}

/** One server. */
export class Client {
  constructor(options?: ClientOptions);
  readonly sandboxes: Sandboxes;
  readonly jobs: Jobs;
  readonly lessons: Lessons;
  readonly volumes: Volumes;
  readonly webhooks: Webhooks;
  /** Runs one program to its end. One that crashed, timed out or was killed is a result too: see its `status`. */
  execute(code: string, options?: CodeOptions): Promise<RunResult>;
  /** The same as events while it runs. Whoever leaves cancels it. */
  executeStream(code: string, options?: CodeOptions): EventStream<CodeEvent>;
  /** Has a task solved. One that was not solved is a result too. */
  run(task: string, options?: TaskOptions): Promise<TaskResult>;
  /** The same step by step. Whoever leaves cancels it. */
  runStream(task: string, options?: TaskOptions): EventStream<TaskEvent>;
  benchmark(options?: BenchmarkOptions): Promise<BenchmarkReport>;
  /** What happened in all sandboxes of the key, newest first. */
  audit(options?: PageOptions & { kind?: string; sandbox?: string }): Promise<SandboxEventPage>;
  /** The same oldest first while it happens. */
  auditStream(options?: CallOptions & { kind?: string; sandbox?: string; cursor?: string }): EventStream<FollowEvent>;
  /** Those that a request may name. */
  templates(options?: CallOptions): Promise<Template[]>;
  template(name: string, options?: CallOptions): Promise<Template>;
  health(options?: CallOptions): Promise<Health>;
  stats(options?: CallOptions): Promise<Stats>;
  /** The same for Prometheus. */
  metrics(options?: CallOptions): Promise<string>;
  /** The description of the interface. */
  openapi(options?: CallOptions): Promise<Record<string, unknown>>;
}

export interface Jobs {
  list(options?: PageOptions & { status?: string }): Promise<JobPage>;
  /** All pages. */
  iterate(options?: CallOptions & { status?: string }): AsyncGenerator<JobSummary, void, undefined>;
  get(jobId: string, options?: CallOptions): Promise<Job>;
  /** What happens in a job from now on, up to complete with the Job and its result. */
  stream(jobId: string, options?: CallOptions): EventStream<JobEvent>;
  cancel(jobId: string, options?: CallOptions): Promise<void>;
  /** Sends a signal to the program of a job and to its process group. */
  signal(jobId: string, signal: string | number, options?: CallOptions): Promise<void>;
}

export interface Lessons {
  list(options?: PageOptions): Promise<LessonPage>;
  /** Returns how many are gone. */
  erase(lessonId: string, options?: CallOptions): Promise<number>;
  eraseAll(options?: CallOptions): Promise<number>;
}

/** A volume is named by its id or by its name. */
export interface Volumes {
  /** Makes one, empty or with the files of another one. */
  create(name: string, options?: CallOptions & { sizeMb?: number; copyOf?: string }): Promise<Volume>;
  get(volumeId: string, options?: CallOptions): Promise<Volume>;
  /** Changes what is given, all of it or nothing. One that a sandbox has keeps its name. */
  change(volumeId: string, options?: CallOptions & { name?: string; sizeMb?: number }): Promise<Volume>;
  /** One page, newest first. */
  list(options?: PageOptions): Promise<VolumePage>;
  /** All pages. */
  iterate(options?: CallOptions): AsyncGenerator<Volume, void, undefined>;
  /** Removes it and all in it; not while a sandbox has it. */
  delete(volumeId: string, options?: CallOptions): Promise<void>;
}

export interface Webhooks {
  /** Its `secret` is shown this once. */
  create(url: string, events: string[], options?: CallOptions & { name?: string }): Promise<CreatedWebhook>;
  list(options?: CallOptions): Promise<Webhook[]>;
  get(webhookId: string, options?: CallOptions): Promise<Webhook>;
  change(webhookId: string, options?: WebhookChanges): Promise<Webhook>;
  delete(webhookId: string, options?: CallOptions): Promise<void>;
  replaceSecret(webhookId: string, options?: CallOptions & { previousSeconds?: number }): Promise<CreatedWebhook>;
  test(webhookId: string, options?: CallOptions): Promise<WebhookTry>;
}

export interface Sandboxes {
  create(options?: SandboxOptions): Promise<Sandbox>;
  /** By its id, or by its name while it lives. */
  get(sandboxId: string, options?: CallOptions): Promise<Sandbox>;
  /** `metadata` is `name:value`. */
  list(options?: PageOptions & { state?: "running" | "paused" | "ended"; metadata?: string }): Promise<SandboxPage>;
  /** All pages. */
  iterate(options?: CallOptions & { state?: "running" | "paused" | "ended"; metadata?: string }): AsyncGenerator<SandboxDetails, void, undefined>;
}

/** One sandbox. */
export class Sandbox {
  private constructor();
  /** How it stood when it was last asked for. */
  readonly details: SandboxDetails;
  readonly path: string;
  readonly id: string;
  readonly name: string | null;
  readonly state: SandboxDetails["state"];
  readonly files: SandboxFiles;
  readonly processes: Processes;
  run: Processes["run"];
  runStream: Processes["runStream"];
  start: Processes["start"];
  refresh(options?: CallOptions): Promise<SandboxDetails>;
  /** What is left out stays. */
  change(options: SandboxChanges): Promise<SandboxDetails>;
  /** Lets it live so long from now on. */
  renew(timeoutSeconds: number | null, options?: CallOptions): Promise<SandboxDetails>;
  /** Stops all that runs in it. The next request that needs it resumes it, unless `autoResume` is false. */
  pause(options?: CallOptions): Promise<SandboxDetails>;
  resume(options?: CallOptions): Promise<SandboxDetails>;
  /** Another access token, in place of the old one. */
  renewToken(options?: CallOptions): Promise<SandboxDetails>;
  /** Ends it, or forgets one that has ended. */
  delete(options?: CallOptions): Promise<void>;
  /** What happened in it, oldest first. */
  events(options?: PageOptions & { kind?: string }): Promise<SandboxEventPage>;
  eventsStream(options?: CallOptions & { kind?: string; cursor?: string }): EventStream<FollowEvent>;
  /** What all its processes printed, in the order in which it came. */
  logs(options?: LogOptions & { limit?: number }): Promise<SandboxLogPage>;
  logsStream(options?: LogOptions): EventStream<FollowEvent>;
  /** What it uses now, and what it used between two times (RFC 3339, or seconds since 1970). */
  metrics(options?: CallOptions & { start?: string | number; end?: string | number }): Promise<SandboxMetrics>;
  /** Where a server in it is reached that listens on `port`. With its access token the address opens it without a key. */
  portUrl(port: number, path?: string, options?: { withToken?: boolean }): string;
  /** Where a WebSocket carries the bytes of a TCP connection to `port`. With its access token the URL opens it without a key. */
  tunnelUrl(port: number, options?: { withToken?: boolean }): string;
  /** What a client of WebSockets that can send headers, such as `ws`, opens a terminal with. A browser's sends no key. */
  terminalRequest(options?: TerminalOptions): { url: string; headers: Record<string, string> };
}

/** A command is a list of words, or a text for bash -c. */
export interface Processes {
  /** Runs a command to its end. One that failed is a result too: see its `exitCode` and `outcome`. */
  run(command: Command, options?: CommandOptions): Promise<ProcessResult>;
  /** The same as events while it runs. Whoever leaves ends it. */
  runStream(command: Command, options?: StreamedCommandOptions): EventStream<ProcessEvent>;
  /** Starts it in the background, where it goes on by itself. */
  start(command: Command, options?: Omit<StreamedCommandOptions, "outputEncoding">): Promise<Process>;
  /** Those that run, and the last 32 that ended. */
  list(options?: CallOptions): Promise<ProcessDetails[]>;
  get(pid: number, options?: CallOptions): Promise<Process>;
}

/** One process. */
export class Process {
  private constructor();
  /** How it stood when it was last asked for. */
  readonly details: ProcessDetails;
  readonly path: string;
  readonly pid: number;
  refresh(options?: CallOptions): Promise<ProcessDetails>;
  /** Until it has ended. `onOutput` is called with stdout or stderr, and what came, from the beginning of what is kept. */
  wait(options?: CallOptions & { onOutput?: (stream: "stdout" | "stderr", text: string) => void }): Promise<ProcessDetails>;
  /** What it printed from the byte `start` on; the latest 256 KiB are kept. */
  output(options?: CallOptions & { start?: number; encoding?: Encoding }): Promise<ProcessOutput>;
  /** The same, and then what it prints. Whoever leaves ends nothing. */
  outputStream(options?: CallOptions & { start?: number; encoding?: Encoding }): EventStream<ProcessEvent>;
  /** Writes to its input; done when that has taken it. With `close` no more follows. */
  write(data: string | Uint8Array, options?: CallOptions & { close?: boolean }): Promise<void>;
  closeInput(options?: CallOptions): Promise<void>;
  /** "SIGTERM", or 15; with `group` to its process group. */
  signal(signal: string | number, options?: CallOptions & { group?: boolean }): Promise<void>;
  /** Of its terminal. */
  resize(columns: number, rows: number, options?: CallOptions): Promise<void>;
  /** Kills it and its process group, or forgets one that has ended. */
  delete(options?: CallOptions): Promise<void>;
}

/** Files of a sandbox, by absolute paths. */
export interface SandboxFiles {
  read(path: string, options?: CallOptions): Promise<Uint8Array>;
  readText(path: string, options?: CallOptions): Promise<string>;
  /** In pieces while they come: all of it, or the bytes from `start` to in front of `end`. */
  readStream(path: string, options?: CallOptions & { start?: number; end?: number }): Promise<ReadableStream<Uint8Array>>;
  /** In place of an older one at once, when all is there. `mode` is octal, such as "0755". */
  write(path: string, content: Content, options?: CallOptions & { mode?: string }): Promise<FileEntry>;
  /** A directory with all that is below it, as a tar archive. */
  readTree(path: string, options?: CallOptions): Promise<ReadableStream<Uint8Array>>;
  /** Unpacks a plain tar archive in a directory, which is made where there is none. */
  writeTree(path: string, archive: Content, options?: CallOptions): Promise<FileEntry>;
  stat(path: string, options?: CallOptions): Promise<FileEntry>;
  exists(path: string, options?: CallOptions): Promise<boolean>;
  list(path: string, options?: CallOptions & { depth?: number }): Promise<FileList>;
  move(path: string, moveTo: string, options?: CallOptions): Promise<FileEntry>;
  makeDirectory(path: string, options?: CallOptions): Promise<FileEntry>;
  remove(path: string, options?: CallOptions & { recursive?: boolean }): Promise<void>;
  /** Lines of text files in which `query` stands as it is. */
  search(query: string, options?: CallOptions & { path?: string; limit?: number }): Promise<SearchResult>;
  /** A URL that opens one file without a key: to `read`, or to `write` by PUT. */
  sign(path: string, options?: CallOptions & { operation?: "read" | "write"; expiresInSeconds?: number }): Promise<SignedUrl>;
  /** What happens to files: watching first, then created, written, attributes, moved, removed, overflow, end. */
  watch(path?: string, options?: CallOptions & { recursive?: boolean }): EventStream<FileEvent>;
}
