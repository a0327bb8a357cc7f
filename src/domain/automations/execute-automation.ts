/** Lets one person into a flow by request (D27): the filters of triggers are skipped, the rules of entry are not (D70). */
import { z } from 'zod';
import { ValidationError } from '../../lib/errors.ts';
import { parseInput } from '../../lib/text.ts';
import { findSubscriber } from '../audience/find-subscriber.ts';
import { inTransaction, type Context } from '../context.ts';
import { isStorable } from './checked-draft.ts';
import { databaseNow } from './clock-read-model.ts';
import { notActive } from './automation-errors.ts';
import { enterPeople, type EntryAnswer } from './enter-people.ts';
import { findOwnedAutomation } from './find-owned-automation.ts';
import { PAYLOAD_BYTES_MAX, textOf, valueAt, type FlowPayload } from './flow-payload.ts';
import { liveFlow } from './live-flow.ts';

const input = z.object({ payload: z.record(z.string(), z.unknown()).nullish() });

export interface ExecuteAutomationInput {
  /** Uid, id or address. */
  readonly subscriber: string;
  readonly payload?: unknown;
}

/**
 * Throws ValidationError, WrongStateError `AUTOMATION_NOT_ACTIVE`, `AUTOMATION_NOT_FOUND`, `SUBSCRIBER_NOT_FOUND`. A refused entry is an
 * answer with its reason.
 */
export async function executeAutomation(
  ctx: Context,
  uid: string,
  given: ExecuteAutomationInput,
): Promise<EntryAnswer> {
  const { payload } = parseInput(input, { payload: given.payload });
  if (Buffer.byteLength(JSON.stringify(payload ?? {})) > PAYLOAD_BYTES_MAX)
    throw new ValidationError({ payload: [`The payload may not be larger than ${PAYLOAD_BYTES_MAX / 1024} KiB.`] });
  if (payload && !isStorable(payload))
    throw new ValidationError({ payload: ['The payload must not contain NUL or half of a character.'] });
  return inTransaction(ctx, async (tx) => {
    const automation = await findOwnedAutomation(tx, uid);
    const { customerId, id: automationId, listUid, status, liveVersion: version } = automation;
    if (status !== 'active' || version === null) throw notActive();
    const live = await liveFlow(tx.db, { customerId, automationId, version });
    if (!live) throw notActive();
    const person = await findSubscriber(tx, { subscriber: given.subscriber, listUid });
    const entrant = {
      ...{ personId: person.id, entryKey: keyOf(payload ?? null, live.flow.entry), payload: payload ?? null },
      ...{ depth: 0, reason: 'execute' },
    };
    const [answer] = await enterPeople(tx, live, { entrants: [entrant], now: await databaseNow(tx.db) });
    if (!answer) throw new Error('An entry has no answer.');
    return answer;
  });
}

/** Long keys are no ids. */
const KEY_LENGTH_MAX = 200;

function keyOf(payload: FlowPayload | null, entry: { readonly mode: string; readonly key?: string }): string {
  if (entry.mode !== 'per_key' || entry.key === undefined) return '';
  return (textOf(valueAt(payload, entry.key)) ?? '').slice(0, KEY_LENGTH_MAX);
}
