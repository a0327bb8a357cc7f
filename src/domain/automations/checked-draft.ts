/** A draft may have faults: only its size is limited, and that it is an object. */
import { ValidationError } from '../../lib/errors.ts';
import { FLOW_BYTES_MAX } from './flow.ts';

export function checkedDraft(given: unknown): object {
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw new ValidationError({ flow: ['The flow must be an object with triggers, nodes and edges.'] });
  if (!isStorable(given))
    throw new ValidationError({ flow: ['The flow must not contain NUL or half of a character.'] });
  if (Buffer.byteLength(JSON.stringify(given)) > FLOW_BYTES_MAX)
    throw new ValidationError({ flow: [`The flow may not be larger than ${FLOW_BYTES_MAX / 1024} KiB.`] });
  return given;
}

/** Whether the database takes it as JSON: no NUL, no lone half of a surrogate pair. */
export function isStorable(given: object): boolean {
  let isGood = true;
  JSON.stringify(given, (name: string, value: unknown) => {
    for (const text of [name, value])
      if (typeof text === 'string') isGood &&= !text.includes('\0') && text.isWellFormed();
    return value;
  });
  return isGood;
}
