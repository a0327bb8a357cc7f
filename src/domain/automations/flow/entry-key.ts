/** The key of an entry (D70): the value at the flow's path in the payload. */
import { sha256 } from '../../../lib/crypto.ts';
import { textOf, valueAt, type FlowPayload } from './flow-payload.ts';
import type { Entry } from './flow-triggers.ts';

/** Longer ones stand in the index as a digest: cut off, two of them would be the same. */
const KEY_LENGTH_MAX = 200;

/** Empty: the flow has no keys, or the payload has no value there. */
export function entryKeyOf(payload: FlowPayload | null, entry: Entry): string {
  if (entry.mode !== 'per_key') return '';
  const key = textOf(valueAt(payload, entry.key)) ?? '';
  return key.length <= KEY_LENGTH_MAX ? key : `sha256:${sha256(key).toString('hex')}`;
}
