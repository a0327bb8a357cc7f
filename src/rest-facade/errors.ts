/**
 * The error table (decision D6): from the result of an operation to status and body. Codes and types decide, texts never do. What
 * is not in the table is a defect: a 500 with a reference only.
 */
import type { FieldErrors } from '../lib/errors.ts';
import { UNAVAILABLE_MESSAGE, UNAVAILABLE_RETRY_SECONDS } from '../lib/is-unavailable.ts';
import { schemaFault } from './schema-faults.ts';
import type { VariableTypes } from './words.ts';

/** An object with a message, or a row for each of the things that failed. */
type RefusalBody = ({ readonly message?: unknown } & Readonly<Record<string, unknown>>) | readonly unknown[];

/** An answer that is not a success; thrown anywhere in the facade, written in one place. */
export class RestError extends Error {
  readonly status: number;
  readonly body: RefusalBody;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, body: RefusalBody, headers: Readonly<Record<string, string>> = {}) {
    super('message' in body && typeof body.message === 'string' ? body.message : `Refused with ${status}`);
    this.name = 'RestError';
    this.status = status;
    this.body = body;
    this.headers = headers;
  }

  /** The same answer with these headers, too. */
  withHeaders(headers: Readonly<Record<string, string>>): RestError {
    return new RestError(this.status, this.body, { ...this.headers, ...headers });
  }
}

/** The failure types in result unions, as the schema calls them. */
export type FailureName =
  | 'UnauthenticatedError'
  | 'ForbiddenError'
  | 'NotFoundError'
  | 'ValidationError'
  | 'WrongStateError'
  | 'RateLimitedError';

interface FlowFault {
  readonly node: string | null;
  readonly field: string | null;
  readonly code: string;
  readonly message: string;
}

/** A failure member of a result union, as the shared fragment `Failure` selects it. */
export interface Failure {
  readonly __typename: FailureName;
  readonly message: string;
  readonly code: string;
  readonly fields?: readonly { readonly field: string; readonly messages: readonly string[] }[];
  /** Of a flow that cannot be published; only where the operation asks for them. */
  readonly faults?: readonly FlowFault[];
  readonly retryAfterSeconds?: number;
}

/** An error of the execution, outside the data. */
export interface OperationError {
  readonly message: string;
  readonly extensions?: Readonly<Record<string, unknown>> | undefined;
}

const STATUS: Readonly<Record<FailureName, number>> = {
  UnauthenticatedError: 401,
  ForbiddenError: 403,
  NotFoundError: 404,
  ValidationError: 422,
  WrongStateError: 422,
  RateLimitedError: 429,
};

/** The code when an operation's variables do not fit the schema: usually wrong input. */
const BAD_REQUEST = 'BAD_REQUEST';
const UNAVAILABLE: ReadonlySet<unknown> = new Set(['SERVICE_UNAVAILABLE', 'TIMED_OUT']);

/** The code of a plugin failed: it was logged, with the plugin's name. */
const PLUGIN_FAILED = 'PLUGIN_FAILED';

/** The operation of a plugin's row asks for too much, by the caller's parameters. */
const TOO_EXPENSIVE = 'DOCUMENT_TOO_EXPENSIVE';

const INVALID_MESSAGE = 'The given data was invalid.';

/** A 422 that names the fields. */
export function invalid(errors: FieldErrors, message = INVALID_MESSAGE): RestError {
  return new RestError(422, { message, errors });
}

export function unauthenticated(): RestError {
  return new RestError(401, { message: 'Unauthenticated.' }, { 'WWW-Authenticate': 'Bearer' });
}

/** Whether a member of an operation's data is a failure. */
export function isFailure(value: unknown): value is Failure {
  if (typeof value !== 'object' || value === null || !('__typename' in value)) return false;
  return typeof value.__typename === 'string' && isFailureName(value.__typename);
}

function isFailureName(name: string): name is FailureName {
  return Object.hasOwn(STATUS, name);
}

/** The answer to a failure member; `nameOf` translates the schema's field paths into REST names. */
export function failureAnswer(failure: Failure, nameOf: (path: string) => string): RestError {
  const { message } = failure;
  switch (failure.__typename) {
    case 'UnauthenticatedError':
      return new RestError(401, { message }, { 'WWW-Authenticate': 'Bearer' });
    case 'ValidationError':
      // The fixed text of specification 7; the schema's own text is not used.
      return invalid(failureFields(failure, nameOf));
    case 'WrongStateError':
      return invalid(failureFields(failure, nameOf), message);
    case 'RateLimitedError':
      return new RestError(429, { message }, { 'Retry-After': String(failure.retryAfterSeconds ?? 60) });
    default:
      return new RestError(STATUS[failure.__typename], { message });
  }
}

/** The faults in a failure member by their names in REST. */
export function failureFields(failure: Failure, nameOf: (path: string) => string): FieldErrors {
  if (failure.__typename === 'WrongStateError') return { status: [failure.message] };
  return renamed(failure.fields ?? [], nameOf);
}

interface OperationNames {
  /** The caller's name of a path in the variables. */
  readonly nameOf: (path: string) => string;
  readonly requestId: string;
  readonly types: VariableTypes;
}

/** An error outside the data: an expected one, or a defect (already masked and logged by the schema). */
export function graphqlErrorAnswer(
  error: OperationError,
  { nameOf, requestId, types }: OperationNames,
): RestError | undefined {
  const { type, code, fields, retryAfterSeconds } = error.extensions ?? {};
  if (UNAVAILABLE.has(code)) return unavailableAnswer(error.message);
  if (code === PLUGIN_FAILED) return defectAnswer(requestId, error.message);
  if (code === TOO_EXPENSIVE) return invalid({ input: [error.message] });
  if (code === BAD_REQUEST) return invalid(schemaFault(error.message, { types, nameOf }) ?? { input: [error.message] });
  if (typeof type !== 'string' || !isFailureName(type)) return undefined;
  const failure: Failure = {
    __typename: type,
    message: error.message,
    code: String(code),
    fields:
      typeof fields === 'object' && fields !== null
        ? Object.entries(fields).map(([field, messages]) => ({ field, messages: [messages].flat().map(String) }))
        : [],
    ...(typeof retryAfterSeconds === 'number' ? { retryAfterSeconds } : {}),
  };
  return failureAnswer(failure, nameOf);
}

/** A service that we need is away or too busy for the moment. */
export function unavailableAnswer(message = UNAVAILABLE_MESSAGE): RestError {
  return new RestError(503, { message }, { 'Retry-After': String(UNAVAILABLE_RETRY_SECONDS) });
}

export function defectAnswer(
  reference: string,
  message = 'The server made a mistake. It is logged under this reference.',
): RestError {
  return new RestError(500, { message, reference });
}

/** `contact.countryId` -> `contact.country_id`, `address1` -> `address_1`; a tag in capitals stays. */
export function restFieldName(path: string): string {
  return path
    .replace(/^input\./, '')
    .replace(/([a-z])([A-Z0-9])/g, (_, before: string, after: string) => `${before}_${after.toLowerCase()}`);
}

function renamed(
  fields: readonly { field: string; messages: readonly string[] }[],
  nameOf: (path: string) => string,
): FieldErrors {
  return Object.fromEntries(fields.map(({ field, messages }) => [nameOf(field), messages]));
}
