/** Faults of a flow, as REST answers them. */
import { RestError, type Failure } from '../errors.ts';

/** With each fault's place. */
export function refusedFlow({ message, fields = [], faults = [] }: Failure): RestError | undefined {
  if (faults.length === 0) return undefined;
  return new RestError(422, {
    message,
    // Of the flow, or of the moves of people.
    errors: Object.fromEntries(fields.map(({ field, messages }) => [field, messages])),
    faults: faults.map(ownParts),
  });
}

/** Without what the transport adds. */
export function ownParts({
  node,
  field,
  code,
  message,
}: {
  readonly node: string | null;
  readonly field: string | null;
  readonly code: string;
  readonly message: string;
}) {
  return { node, field, code, message };
}
