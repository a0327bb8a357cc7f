/** A payload as a caller gives it: its size is limited, and the database must take it (D27). */
import { z } from 'zod';
import { ValidationError } from '../../../lib/errors.ts';
import { parseInput } from '../../../lib/text.ts';
import { isStorable } from './checked-draft.ts';
import { PAYLOAD_BYTES_MAX, type FlowPayload } from './flow-payload.ts';

const input = z.object({ payload: z.record(z.string(), z.unknown()).nullish() });

const USUAL = {
  bytesMax: PAYLOAD_BYTES_MAX,
  why: `The payload may not be larger than ${PAYLOAD_BYTES_MAX / 1024} KiB.`,
};

/** Null: there is none. `why` tells the caller of the limit. Throws ValidationError. */
export function checkedPayload(given: unknown, { bytesMax, why } = USUAL): FlowPayload | null {
  const { payload } = parseInput(input, { payload: given });
  if (!payload) return null;
  if (Buffer.byteLength(JSON.stringify(payload)) > bytesMax) throw new ValidationError({ payload: [why] });
  if (!isStorable(payload))
    throw new ValidationError({ payload: ['The payload must not contain NUL or half of a character.'] });
  return payload;
}
