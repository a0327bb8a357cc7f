/** The html and plain texts in the answer to one request: only so much as fits in memory, and until the answer has left. */
import { viewerOf } from '../domain/context.ts';
import { ValidationError } from '../lib/errors.ts';
import type { GraphqlContext } from './context.ts';
import { CONTENT_BYTES_MAX } from './limits.ts';

const BYTES_PER_MEGABYTE = 1_048_576;
/** As descriptions of fields say it. */
export const CONTENT_LIMIT = `One request may read ${CONTENT_BYTES_MAX / BYTES_PER_MEGABYTE} MB of html and plain text.`;

const spentOf = new WeakMap<GraphqlContext, number>();

/**
 * Counts so many bytes more, best before they are read. Throws ValidationError `TOO_MUCH_CONTENT`, RateLimitedError
 * `TOO_MANY_LARGE_ANSWERS`.
 */
export async function takeContent(ctx: GraphqlContext, bytes: number): Promise<void> {
  const spent = (spentOf.get(ctx) ?? 0) + bytes;
  spentOf.set(ctx, spent);
  if (spent > CONTENT_BYTES_MAX) throw tooMuchContent(spent);
  await ctx.answer?.take(viewerOf(ctx).customerId, bytes);
}

function tooMuchContent(bytes: number): ValidationError {
  const message =
    `The html and plain texts in this answer have ${Math.ceil(bytes / BYTES_PER_MEGABYTE)} MB; one request may read ` +
    `${CONTENT_BYTES_MAX / BYTES_PER_MEGABYTE} MB of them. Ask for fewer campaigns or lists at once.`;
  return new ValidationError({ perPage: [message] }, 'TOO_MUCH_CONTENT', message);
}
