// The errors that this module throws. A program that failed is not among them: its result says so.

/** Everything that this module throws by itself. */
export class SandboxError extends Error {
  constructor(message, options) {
    super(message, options);
    this.name = this.constructor.name;
  }
}
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

/** The server refused the request, and says why. */
export class ApiError extends SandboxError {
  constructor(status, problem, headers = new Headers()) {
    const { title = "", code = "", detail = "", limit = null, used = null, remedy = null } = problem;
    super(`${status} ${code}: ${detail}${remedy ? ` (${remedy})` : ""}`);
    Object.assign(this, { status, problem, title, code, detail, limit, used, remedy });
    this.field = (status === 400 && /^"?([A-Za-z_][\w.[\]-]*)"?: /.exec(detail)?.[1]) || null;
    this.requestId = headers.get("X-Request-Id");
    const later = headers.get("Retry-After");
    this.retryAfterSeconds = /^\d+$/.test(later ?? "") ? Number(later) : null;
  }
}
// As in Python, by the status of HTTP.
export class BadRequest extends ApiError {}
export class Unauthorized extends ApiError {}
export class Forbidden extends ApiError {}
export class NotFound extends ApiError {}
export class Conflict extends ApiError {}
export class TooLarge extends ApiError {}
export class NoProvider extends ApiError {}
export class TooManyRequests extends ApiError {}
export class ServerFailure extends ApiError {}
export class Unavailable extends ServerFailure {}
export class DiskFull extends ServerFailure {}
