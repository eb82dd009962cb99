// Answers of the server, with names as JavaScript writes them. Times are RFC 3339. What a later server adds is there, too.

export interface Outcome {
  code: string;
  cause: string;
  limit: number | null;
  used: number | null;
  remedy: string | null;
}

export interface Limits {
  memory: string;
  pids: string;
  cpu: string;
}

export interface Artifact {
  path: string;
  size: number;
  mediaType: string;
  base64: string;
}

export interface SkippedArtifact {
  path: string;
  reason: string;
}

export interface NetworkDecision {
  destination: string;
  decision: "refused" | "failed" | "allowed";
  reason: string;
  connections: number;
}

export interface Timings {
  queued: number;
  started: number;
  ran: number;
}

export interface RunResult {
  jobId: string;
  status: "success" | "error" | "timeout" | "out_of_memory" | "killed" | "violation" | "cancelled";
  success: boolean;
  outcome: Outcome;
  exitCode: number | null;
  signal: string | null;
  stdout: string;
  stderr: string;
  stdoutTruncated: boolean;
  stderrTruncated: boolean;
  outputEncoding: "utf-8" | "base64";
  executionTimeMs: number;
  cpuTimeMs: number;
  memoryPeakMb: number;
  warm: boolean;
  template: string | null;
  timingsUs: Timings;
  limits: Limits;
  artifacts: Artifact[];
  artifactsSkipped: SkippedArtifact[];
  artifactsSkippedTotal: number;
  network: NetworkDecision[];
  networkTotal: number;
  createdAt: string;
}

export interface Usage {
  inputTokens: number;
  outputTokens: number;
}

export interface Critique {
  diagnosis: string;
  fix: string;
  shouldRetry: boolean;
  confidence: number;
}

export interface Vote {
  role: string;
  approves: boolean;
  confidence: number;
  findings: string[];
}

export interface Attempt {
  attempt: number;
  candidate: number;
  code: string;
  reasoning: string;
  dependencies: string[];
  executionResult: RunResult | null;
  critique: Critique | null;
  votes: Vote[];
  usage: Usage;
}

export interface TaskResult {
  jobId: string;
  status: "completed" | "failed" | "cancelled";
  success: boolean;
  output: string;
  code: string;
  dependencies: string[];
  reasoning: string;
  attempts: number;
  history: Attempt[];
  artifacts: Artifact[];
  artifactsSkipped: SkippedArtifact[];
  artifactsSkippedTotal: number;
  usage: Record<string, Usage>;
  executionTimeMs: number;
  error: string | null;
  providerStatus: number | null;
  createdAt: string;
  completedAt: string;
}

export interface BenchmarkTask {
  id: string;
  solved: boolean;
  solvedAt: number | null;
  attempts: number;
  seconds: number;
  inputTokens: number;
  outputTokens: number;
  error: string | null;
}

export interface BenchmarkReport {
  suite: string;
  asked: number;
  run: number;
  maxAttempts: number;
  passAt1: number;
  solvedWithin3: number;
  solved: number;
  attemptsEach: number;
  secondsEach: number;
  seconds: number;
  inputTokens: number;
  outputTokens: number;
  tasks: BenchmarkTask[];
}

export interface Lesson {
  id: string;
  task: string;
  error: string;
  advice: string;
  code: string;
  learntAt: string;
  seen: number;
}

export interface LessonPage {
  lessons: Lesson[];
  nextCursor: string | null;
}

export interface JobSummary {
  jobId: string;
  kind: string;
  status: string;
  language: string;
  codeSha256: string;
  createdAt: string;
  finishedAt: string | null;
  executionTimeMs: number | null;
  error: string | null;
}

export interface Job extends JobSummary {
  result: RunResult | TaskResult | null;
  history: Attempt[] | null;
}

export interface JobPage {
  jobs: JobSummary[];
  nextCursor: string | null;
}

export interface Template {
  name: string;
  language: string;
  imports: string[];
  ready?: number;
}

export interface Health {
  status: string;
  version?: string;
  uptimeSeconds?: number;
  pools?: Record<string, unknown>;
  runs?: Record<string, unknown>;
  limits?: Limits;
  users?: "own" | "shared";
  landlock?: number;
  root?: Record<string, unknown>;
}

export interface Stats {
  version: string;
  uptimeSeconds: number;
  runs: Record<string, unknown>;
  byStatus: Record<string, unknown>;
  byLanguage: Record<string, unknown>;
  tasks: Record<string, unknown>;
  rejected: Record<string, unknown>;
  latencyMs: Record<string, unknown>;
  startedMs: Record<string, unknown>;
  pools: Record<string, unknown>;
  jobStoreErrors: number;
}

export interface SandboxLimits {
  memoryMb: number;
  processes: number;
  diskMb: number;
  cpu: number | null;
}

/** Where a secret header is added, without its value. */
export interface SecretName {
  host: string;
  port: number;
  header: string;
}

export interface SandboxVolume {
  volume: string;
  path: string;
  readOnly: boolean;
}

/** A port that it declares; `host` is its own name, where the operator has a domain for ports. */
export interface SandboxPort {
  port: number;
  path: string;
  host: string | null;
}

export interface SandboxDetails {
  id: string;
  name: string | null;
  domain: string | null;
  state: "running" | "paused" | "ended";
  outcome: Outcome | null;
  template: string | null;
  metadata: Record<string, string>;
  workingDirectory: string;
  createdAt: string;
  endsAt: string;
  endedAt: string | null;
  pausedAt: string | null;
  idleSeconds: number | null;
  onTimeout: string;
  autoResume: boolean;
  diskKind: "memory" | "directory";
  warm: boolean;
  limits: SandboxLimits;
  enforcedBy: Limits;
  network: "none" | { allow: string[]; secrets?: SecretName[] };
  volumes: SandboxVolume[];
  ports: SandboxPort[];
  processes: number;
  accessToken?: string | null;
}

export interface SandboxEvent {
  number: number;
  at: string;
  kind: string;
  sandboxId: string;
  requestId: string | null;
  detail: Record<string, unknown>;
}

export interface SandboxEventPage {
  events: SandboxEvent[];
  nextCursor: string | null;
}

export interface SandboxUsage {
  at: string;
  source: string;
  memoryBytes: number;
  memoryPeakBytes: number;
  cpuSeconds: number;
  processes: number;
  workspaceBytes: number;
  tmpBytes: number;
  complete: boolean;
}

export interface MetricLimits {
  memoryBytes: number;
  processes: number;
  workspaceBytes: number;
  tmpBytes: number;
  cpu: number;
}

export interface NetworkUse {
  connections: number;
  refused: number;
  sentBytes: number;
  receivedBytes: number;
}

export interface SandboxMetrics {
  now: SandboxUsage | null;
  limits: MetricLimits;
  network: NetworkUse;
  intervalSeconds: number;
  samples: SandboxUsage[];
}

export interface SandboxLogEntry {
  at: string;
  pid: number;
  stream: string;
  place: number;
  data: string;
}

export interface SandboxLogPage {
  entries: SandboxLogEntry[];
  from: number;
  next: number;
  lostBytes: number;
  hasMore: boolean;
}

export interface ProcessDetails {
  pid: number;
  command: string[];
  state: "running" | "ended";
  exitCode: number | null;
  signal: string | null;
  outcome: Outcome | null;
  background: boolean;
  pty: boolean;
  /** Its interpreter had begun before it was asked for. */
  warm: boolean;
  startedAt: string;
  endedAt: string | null;
  outputFrom: number;
  outputTo: number;
  cpuTimeMs: number | null;
  memoryPeakMb: number | null;
}

export interface ProcessResult extends ProcessDetails {
  stdout: string;
  stderr: string;
  stdoutTruncated: boolean;
  stderrTruncated: boolean;
}

export interface OutputPiece {
  stream: string;
  data: string;
}

export interface ProcessOutput {
  from: number;
  next: number;
  lostBytes: number;
  pieces: OutputPiece[];
  over: boolean;
}

export interface FileEntry {
  path: string;
  name: string;
  type: "file" | "directory" | "link" | "other";
  size: number;
  mode: string;
  modifiedAt: string;
  target: string | null;
}

export interface FileList {
  entries: FileEntry[];
  truncated: boolean;
}

export interface SearchMatch {
  path: string;
  line: number;
  text: string;
}

export interface SearchResult {
  matches: SearchMatch[];
  truncated: boolean;
}

export interface SignedUrl {
  url: string;
  method: string;
  expiresAt: string;
}

/** A sandbox that has a volume. */
export interface VolumeUser {
  id: string;
  path: string;
  readOnly: boolean;
}

export interface Volume {
  id: string;
  name: string;
  createdAt: string;
  sizeMb: number;
  usedBytes: number;
  files: number;
  sandboxes: VolumeUser[];
}

export interface VolumePage {
  volumes: Volume[];
  nextCursor: string | null;
}

export interface WebhookTry {
  at: string;
  event: string;
  delivered: boolean;
  status: number | null;
  error: string | null;
}

export interface Webhook {
  id: string;
  name: string;
  url: string;
  events: string[];
  createdAt: string;
  enabled: boolean;
  disabledReason: string | null;
  failures: number;
  previousSecretUntil: string | null;
  failingSince: string | null;
  nextTryAt: string | null;
  missedEvents: number;
  lastTry: WebhookTry | null;
}

export interface CreatedWebhook extends Webhook {
  secret: string;
}

export interface SandboxPage {
  sandboxes: SandboxDetails[];
  nextCursor: string | null;
}
