/** A payload as a caller gives it: its size is limited, and the database must take it (D27). */
import { z } from 'zod';
import { ValidationError } from '../../lib/errors.ts';
import { parseInput } from '../../lib/text.ts';
import { isStorable } from './checked-draft.ts';
import { PAYLOAD_BYTES_MAX, type FlowPayload } from './flow-payload.ts';

const input = z.object({ payload: z.record(z.string(), z.unknown()).nullish() });

/** Null: there is none. Throws ValidationError. */
export function checkedPayload(given: unknown): FlowPayload | null {
  const { payload } = parseInput(input, { payload: given });
  if (!payload) return null;
  if (Buffer.byteLength(JSON.stringify(payload)) > PAYLOAD_BYTES_MAX)
    throw new ValidationError({ payload: [`The payload may not be larger than ${PAYLOAD_BYTES_MAX / 1024} KiB.`] });
  if (!isStorable(payload))
    throw new ValidationError({ payload: ['The payload must not contain NUL or half of a character.'] });
  return payload;
}
