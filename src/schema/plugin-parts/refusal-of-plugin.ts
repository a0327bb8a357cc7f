/**
 * The expected errors of a plugin: it throws the classes of `mailwright/plugin-api`. They are read as data and made anew, so that only texts
 * reach the client, and so that a plugin with its own copy of the contract works, too.
 */
import { z } from 'zod';
import {
  ForbiddenError,
  NotFoundError,
  ValidationError,
  WrongStateError,
  type ExpectedError,
} from '../../lib/errors.ts';

const TEXT_LENGTH_MAX = 1_000;

const text = z.string().transform((it) => it.slice(0, TEXT_LENGTH_MAX));
const code = z.string().regex(/^[A-Z][A-Z0-9_]{0,79}$/);

const refusal = z.discriminatedUnion('name', [
  z.object({ name: z.literal('ValidationError'), code, message: text, fields: z.record(text, z.array(text)) }),
  z.object({ name: z.enum(['NotFoundError', 'ForbiddenError', 'WrongStateError']), code, message: text }),
]);

const CLASSES = { NotFoundError, ForbiddenError, WrongStateError };

/** The error for the client; undefined: it is a fault of the plugin. */
export function refusalOf(error: unknown): ExpectedError | undefined {
  if (!(error instanceof Error)) return undefined;
  const { success, data } = refusal.safeParse(error);
  if (!success) return undefined;
  if (data.name === 'ValidationError') return new ValidationError(data.fields, data.code, data.message);
  return new CLASSES[data.name](data.code, data.message);
}
