/**
 * Bounces at delivery: a server refused a message during SMTP and said why. If the reason is the mailbox, this means the same as
 * a bounce by mail, and is treated in the same way. The message has failed in the ledger already; nothing of it changes here.
 */
import type { Queryable } from '../../db/database.ts';
import { recordPersonEvents, type NewPersonEvent } from '../../events/person-event-store.ts';
import { inTransaction, type Context } from '../context.ts';
import { announceSourceChange } from '../statistics/announce-campaign-change.ts';
import { campaignOfSource } from '../statistics/source-read-model.ts';
import { withPartitions } from '../tracking/partitions.ts';
import {
  isHeldForBounces,
  nameOf,
  refusedRecipients,
  writeRefusals,
  type Refusal,
  type Refusals,
} from '../tracking/refusal-store.ts';
import { queueRefusedAgain } from '../tracking/refused-again-store.ts';
import { actOnBounce } from '../tracking/report-on-delivery.ts';
import { classifyBounce } from './classify-bounce.ts';

/** Repeating it changes nothing. */
export async function recordRefusals(ctx: Context, refusals: Refusals): Promise<void> {
  const rows = await refusedRecipients(ctx.db, refusals);
  const bounces = rows.flatMap((row): Refusal[] => {
    const type = classifyBounce({ status: null, text: row.reply });
    return type === 'blocked' ? [] : [{ ...row, type }];
  });
  if (bounces.length > 0) await withPartitions(ctx, () => record(ctx, refusals, bounces));
}

function record(ctx: Context, refusals: Refusals, refused: readonly Refusal[]): Promise<void> {
  return inTransaction(ctx, async (inner) => {
    const bounces = (await isHeldForBounces(inner.db, refusals))
      ? await withoutHard(inner.db, refusals, refused)
      : refused;
    const reported = await writeRefusals(inner.db, refusals, bounces);
    // In the same order everywhere, so that two batches never wait for each other.
    const people = bounces
      .filter((message) => reported.has(nameOf(message)))
      .toSorted((a, b) => (a.emailKey < b.emailKey ? -1 : 1));
    for (const { emailKey, type } of people)
      await actOnBounce(inner, { customerId: refusals.customerId, emailKey, type });
    await recordBounced(inner.db, refusals.customerId, people);
    if (reported.size > 0) inner.tx.afterCommit(() => announceSourceChange(ctx, refusals));
  });
}

/** What happened to people of lists; other recipients have no history. */
async function recordBounced(db: Queryable, customerId: bigint, people: readonly Refusal[]): Promise<void> {
  for (const [listId, ofList] of Map.groupBy(people, (one) => one.listId)) {
    const events = ofList.map(({ recipientId, type }): NewPersonEvent => ({
      personId: recipientId,
      kind: 'bounced',
      data: { type },
    }));
    if (listId !== null) await recordPersonEvents(db, { customerId, listId }, events);
  }
}

/** Recipients that were refused as unknown are tried again. */
async function withoutHard(db: Queryable, refusals: Refusals, refused: readonly Refusal[]): Promise<Refusal[]> {
  const hard = refused.filter(({ type }) => type === 'hard');
  const campaign = campaignOfSource(refusals);
  if (campaign) await queueRefusedAgain(db, { ...campaign, subscriberIds: hard.map(({ recipientId }) => recipientId) });
  return refused.filter(({ type }) => type !== 'hard');
}
