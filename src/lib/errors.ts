/**
 * The errors a verb may throw on purpose. Each has a stable `code` declared by its noun; entry points translate the class, never
 * the text: GraphQL into a union member, REST into a status, workers into a retry or a stop. Any other error is a defect and is
 * masked.
 */
export abstract class ExpectedError extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.name = new.target.name;
    this.code = code;
  }
}

/** Field name (as the caller wrote it: `name`, `contact.email`, `settings.host`) and what is wrong with it. */
export type FieldErrors = Readonly<Record<string, readonly string[]>>;

/** The input is not valid; `fields` says where and why. REST 422. */
export class ValidationError extends ExpectedError {
  readonly fields: FieldErrors;

  constructor(fields: FieldErrors, code = 'INVALID_INPUT', message = 'The given data was invalid.') {
    super(code, message);
    this.fields = fields;
  }
}

/** The thing exists but is in a state that does not allow this. REST 422 with `errors.status`. */
export class WrongStateError extends ExpectedError {}

/** No such thing. REST 404. */
export class NotFoundError extends ExpectedError {}

/**
 * It exists but belongs to another tenant: REST says 403, GraphQL the same as for an unknown uid. So it has the code and message
 * of the NotFoundError that would be thrown if it did not exist.
 */
export class ForeignResourceError extends ExpectedError {
  /** What would be thrown instead if nobody had it; undefined: a NotFoundError. */
  readonly unlessForeign: ValidationError | undefined;

  constructor(code: string, message: string, unlessForeign?: ValidationError) {
    super(code, message);
    this.unlessForeign = unlessForeign;
  }
}

/** The caller is known but lacks the right. REST 403. */
export class ForbiddenError extends ExpectedError {}

/** No valid credentials. REST 401. */
export class UnauthenticatedError extends ExpectedError {
  constructor(message = 'Unauthenticated.', code = 'UNAUTHENTICATED') {
    super(code, message);
  }
}

/** Too many tries; `retryAfterSeconds` says when to try again. REST 429. */
export class RateLimitedError extends ExpectedError {
  readonly retryAfterSeconds: number;

  constructor(code: string, message: string, retryAfterSeconds: number) {
    super(code, message);
    // GraphQL's Int and the header Retry-After have whole seconds.
    this.retryAfterSeconds = Math.ceil(retryAfterSeconds);
  }
}

/** The code of a plugin failed or was late. The reason is in the log. REST 500 with the plugin's name. */
export class PluginFailedError extends Error {
  readonly plugin: string;

  constructor(plugin: string, options?: ErrorOptions) {
    super(`The plugin ${plugin} failed. The administrator of this installation finds the reason in the log.`, options);
    this.name = 'PluginFailedError';
    this.plugin = plugin;
  }
}

/** An impossible state was reached: a defect of ours, never the caller's. */
export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new Error(`Assertion failed: ${message}`);
}

/** Closes a `switch` over a union: the compiler refuses a forgotten member. */
export function unreachable(value: never): never {
  throw new Error(`Assertion failed: unexpected value ${JSON.stringify(value)}`);
}

/** The text of anything that was thrown, for logs and stored reasons. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/**
 * Thrown by `verify` or `parse` of a webhook (plugin-api/webhook.ts) when nothing can be said at present, such as while a key of the vendor cannot be fetched: the vendor is asked to
 * send the request again.
 */
export class WebhookBusyError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'WebhookBusyError';
  }
}
