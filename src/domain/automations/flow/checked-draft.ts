/** A draft may have faults: only its size is limited, and that it is an object. */
import { ValidationError } from '../../../lib/errors.ts';
import { FLOW_BYTES_MAX } from './flow.ts';

export function checkedDraft(given: unknown): object {
  return checkedObject(given, { name: 'flow', parts: 'triggers, nodes and edges', bytesMax: FLOW_BYTES_MAX });
}

interface ObjectRule {
  readonly name: 'flow' | 'document';
  readonly parts: string;
  readonly bytesMax: number;
}

/** An object that the database takes, of a limited size. Throws ValidationError on its name. */
export function checkedObject(given: unknown, { name, parts, bytesMax }: ObjectRule): object {
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw new ValidationError({ [name]: [`The ${name} must be an object with ${parts}.`] });
  if (!isStorable(given))
    throw new ValidationError({ [name]: [`The ${name} must not contain NUL or half of a character.`] });
  if (Buffer.byteLength(JSON.stringify(given)) > bytesMax)
    throw new ValidationError({ [name]: [`The ${name} may not be larger than ${bytesMax / 1024} KiB.`] });
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
