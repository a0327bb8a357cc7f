/**
 * Mails by which flows notify users of their customer. They go through the operator's own server: they are few, and go after all other
 * notices. A flow that notifies of each order must not hold up the mail that verifies an address.
 */
import { randomInt } from 'node:crypto';
import type { Context } from '../../context.ts';
import { messageIdsOf } from '../../messages/message-store.ts';
import { PRIORITIES } from '../../messages/message.ts';
import { operatorAccount } from '../people-read-model.ts';
import { enqueueNotices, type SystemMail } from '../messages/system-mail.ts';

/** Of a customer and hour of the clock: as many as one node may have addressees; who gets more reads none of them. */
export const FLOW_NOTICES_MAX = 100;
const HOUR_MS = 3_600_000;

/**
 * Enqueues the mails; false: the customer has had too many in this hour, and gets none of these. Each takes a number of the hour, which is its
 * cause, so that the ledger itself counts them.
 */
export async function enqueueFlowNotices(
  ctx: Pick<Context, 'db'>,
  { customerId, at }: { readonly customerId: bigint; readonly at: Date },
  mails: readonly SystemMail[],
): Promise<boolean> {
  const operator = await operatorAccount(ctx.db);
  if (!operator) throw new Error('The installation has no operator account.');
  const hour = Math.floor(at.getTime() / HOUR_MS);
  const causes = Array.from({ length: FLOW_NOTICES_MAX }, (_, no) => `flow notice ${customerId} ${hour} ${no}`);
  const taken = await messageIdsOf(ctx.db, operator.id, causes);
  const left = causes.filter((cause) => !taken.has(cause));
  if (left.length < mails.length) return false;
  // Another process may take numbers at this moment: begin somewhere else.
  left.push(...left.splice(0, randomInt(left.length)));
  for (let open = mails; open.length > 0;) {
    const tried = open.map((mail, no) => ({ ...mail, cause: left[no] }));
    left.splice(0, open.length);
    const numbered = tried.flatMap(({ cause, ...mail }) => (cause === undefined ? [] : [{ ...mail, cause }]));
    if (numbered.length < open.length) return open.length < mails.length;
    const written = new Set(await enqueueNotices(ctx, numbered, PRIORITIES.list));
    open = numbered.filter(({ cause }) => !written.has(cause));
  }
  return true;
}
