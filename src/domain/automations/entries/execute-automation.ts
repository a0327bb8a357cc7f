/** Lets one person into a flow by request (D27): the filters of triggers are skipped, the rules of entry are not (D70). */
import { ValidationError } from '../../../lib/errors.ts';
import { findSubscriber } from '../../audience/find-subscriber.ts';
import { inTransaction, type Context } from '../../context.ts';
import { checkedPayload } from '../flow/checked-payload.ts';
import { databaseNow } from '../runs/clock-read-model.ts';
import { entryRefused, notActive } from '../automation-errors.ts';
import { enterPeople, type EntryAnswer } from './enter-people.ts';
import { entryKeyOf } from '../flow/entry-key.ts';
import { findOwnedAutomation } from '../find-owned-automation.ts';
import { liveFlow } from '../runs/live-flow.ts';

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
  if (given.subscriber.trim() === '') throw new ValidationError({ subscriber: ['The subscriber field is required.'] });
  const payload = checkedPayload(given.payload);
  return inTransaction(ctx, async (tx) => {
    const automation = await findOwnedAutomation(tx, uid);
    const { customerId, id: automationId, listUid, status, liveVersion: version } = automation;
    if (status !== 'active' || version === null) throw notActive();
    const live = await liveFlow(tx, { customerId, automationId, version });
    if (!live) throw notActive();
    const person = await findSubscriber(tx, { subscriber: given.subscriber, listUid });
    const entrant = {
      ...{ personId: person.id, entryKey: entryKeyOf(payload, live.flow.entry), payload },
      ...{ depth: 0, reason: 'execute' },
    };
    const [answer] = await enterPeople(tx, live, { entrants: [entrant], now: await databaseNow(tx.db) });
    if (!answer) throw new Error('An entry has no answer.');
    return answer;
  });
}

/** The same, but a refused entry is a WrongStateError with the refusal as its code. */
export async function letIntoAutomation(
  ctx: Context,
  uid: string,
  given: ExecuteAutomationInput,
): Promise<{ runId: bigint }> {
  const answer = await executeAutomation(ctx, uid, given);
  if ('refused' in answer) throw entryRefused(answer.refused);
  return answer;
}
