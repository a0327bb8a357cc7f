/** A draft may have faults: only its size is limited, and that it is an object. */
import { ValidationError } from '../../lib/errors.ts';
import { FLOW_BYTES_MAX } from './flow.ts';

export function checkedDraft(given: unknown): object {
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw new ValidationError({ flow: ['The flow must be an object with triggers, nodes and edges.'] });
  if (Buffer.byteLength(JSON.stringify(given)) > FLOW_BYTES_MAX)
    throw new ValidationError({ flow: [`The flow may not be larger than ${FLOW_BYTES_MAX / 1024} KiB.`] });
  return given;
}
