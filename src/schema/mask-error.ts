/**
 * What a client sees of an error: expected errors as they are, faults of the document as GraphQL reports them, everything else
 * only as a reference number to the log.
 */
import { randomBytes } from 'node:crypto';
import { GraphQLError } from 'graphql';
import {
  ExpectedError,
  PluginFailedError,
  RateLimitedError,
  UnauthenticatedError,
  ValidationError,
  messageOf,
} from '../lib/errors.ts';
import {
  isTimeOut,
  isUnavailable,
  UNAVAILABLE_MESSAGE,
  UNAVAILABLE_RETRY_SECONDS,
  unavailableMessage,
} from '../lib/is-unavailable.ts';
import type { Log } from '../lib/log.ts';

const REFERENCE_BYTES = 6;
/** GraphQL quotes the wrong value; a megabyte of it helps nobody. */
const MESSAGE_LENGTH_MAX = 500;

/** Suggested names would reveal the schema to a stranger, one guess at a time. */
const SUGGESTION = ' Did you mean ';

/** The error as the client gets it. */
export function maskError(error: unknown, log: Log): GraphQLError {
  const cause = causeOf(error);
  if (cause instanceof ExpectedError) return expected(cause, error);
  if (cause instanceof PluginFailedError) return pluginFailed(cause, error);
  if (cause instanceof GraphQLError) return mistake(cause, error);
  if (isUnavailable(cause)) return unavailable(cause, { error, log });
  return defect(cause, { error, log });
}

interface Erring {
  readonly errors?: readonly GraphQLError[] | undefined;
}

/** The answer of an operation with its errors masked. */
export function maskResult<Result extends Erring>(result: Result, log: Log): Result {
  return result.errors ? { ...result, errors: result.errors.map((error) => maskError(error, log)) } : result;
}

function causeOf(error: unknown): unknown {
  let cause = error;
  while (cause instanceof GraphQLError && cause.originalError) cause = cause.originalError;
  return cause;
}

function placeOf(error: unknown) {
  return error instanceof GraphQLError
    ? { nodes: error.nodes, source: error.source, positions: error.positions, path: error.path }
    : {};
}

function expected(cause: ExpectedError, error: unknown): GraphQLError {
  const extensions: Record<string, unknown> = { code: cause.code, type: cause.name };
  if (cause instanceof ValidationError) extensions['fields'] = cause.fields;
  if (cause instanceof RateLimitedError) extensions['retryAfterSeconds'] = cause.retryAfterSeconds;
  if (cause instanceof UnauthenticatedError)
    extensions['http'] = { status: 401, headers: { 'www-authenticate': 'Bearer' } };
  return new GraphQLError(cause.message, { ...placeOf(error), extensions });
}

/**
 * Errors thrown on purpose for the client: by the parser, validation, a scalar or a limit. Only the outer one has the location.
 */
function mistake(cause: GraphQLError, error: unknown): GraphQLError {
  const extensions = { code: 'BAD_REQUEST', ...cause.extensions };
  const { message } = error instanceof GraphQLError ? error : cause;
  return new GraphQLError(shortened(withoutSuggestions(message)), { ...placeOf(error), extensions });
}

/** It was logged where the plugin's code was called. */
function pluginFailed({ message, plugin }: PluginFailedError, error: unknown): GraphQLError {
  return new GraphQLError(message, { path: placeOf(error).path, extensions: { code: 'PLUGIN_FAILED', plugin } });
}

function shortened(message: string): string {
  return message.length <= MESSAGE_LENGTH_MAX ? message : `${message.slice(0, MESSAGE_LENGTH_MAX).toWellFormed()}…`;
}

function unavailable(cause: unknown, { error, log }: { error: unknown; log: Log }): GraphQLError {
  log.warn('graphql.unavailable', { message: messageOf(cause) });
  const code = isTimeOut(cause) ? 'TIMED_OUT' : undefined;
  return unavailableError(placeOf(error).path, { code, message: unavailableMessage(cause) });
}

function defect(cause: unknown, { error, log }: { error: unknown; log: Log }): GraphQLError {
  const reference = randomBytes(REFERENCE_BYTES).toString('hex');
  const path = error instanceof GraphQLError ? error.path?.join('.') : undefined;
  log.error('graphql.defect', { reference, path, error: cause });
  const message = `Something went wrong on our side. Reference: ${reference}`;
  return new GraphQLError(message, {
    path: placeOf(error).path,
    extensions: { code: 'INTERNAL_ERROR', reference, http: { status: 500 } },
  });
}

/** The service is not available for the moment: the database is away, or there is maintenance. */
export function unavailableError(
  path?: GraphQLError['path'],
  { code = 'SERVICE_UNAVAILABLE', message = UNAVAILABLE_MESSAGE }: { code?: string | undefined; message?: string } = {},
): GraphQLError {
  const headers = { 'retry-after': String(UNAVAILABLE_RETRY_SECONDS) };
  return new GraphQLError(message, { path, extensions: { code, http: { status: 503, headers } } });
}

function withoutSuggestions(message: string): string {
  const [start = '', ...rest] = message.split(SUGGESTION);
  return start + rest.map((text) => text.slice(text.indexOf('?') + 1)).join('');
}
