/**
 * Tells users of the customer by a mail of the program: one for all people who come to the node at the same time, so that a flow with
 * thousands of people does not fill a mailbox.
 */
import { peopleOfCustomer } from '../../billing/saved-methods/payment-mail-read-model.ts';
import { enqueueFlowNotices } from '../../delivery/flow-mails/flow-notices.ts';
import { addressesOf } from './flow-mail-read-model.ts';
import { failed, NEXT, type NodeWork, type Outcome } from './node-work.ts';

/** More users rarely manage one customer's flows. */
export const USERS_MAX = 100;
/** The mail names so many people; of more it gives the number. */
const NAMED_MAX = 50;

type Notify = NodeWork<'notify'>;

/** To the users whom the node names and who still can log in; else to the first one. By `error` when there is none; with a reason in the history
 * when the customer's flows have sent too many of these mails in the present hour. */
export async function notify(work: Notify): Promise<readonly Outcome[]> {
  const { ctx, live, node, runs, now } = work;
  const { customerId } = live.key;
  const users = await peopleOfCustomer(ctx.db, customerId, USERS_MAX);
  const wanted = node.to === undefined ? users.slice(0, 1) : usersNamed(users, node.to);
  if (wanted.length === 0) return runs.map(() => failed(work, 'no_recipient'));
  const paragraphs = [...paragraphsOf(node.text), ...(await peopleOf(work))];
  const mails = wanted.map((to) => ({ to, subject: node.subject, paragraphs }));
  const isEnqueued = await enqueueFlowNotices(ctx, { customerId, at: now }, mails);
  return runs.map(() => (isEnqueued ? NEXT : { go: 'next', reason: 'too_many_notices' }));
}

/** Those of the customer's users; addresses are compared without case. */
export function usersNamed(users: readonly string[], to: readonly string[]): readonly string[] {
  const wanted = new Set(to.map((one) => one.trim().toLowerCase()));
  return users.filter((one) => wanted.has(one.toLowerCase()));
}

function paragraphsOf(text: string): readonly string[] {
  return text
    .split(/\n\s*\n/)
    .map((one) => one.trim())
    .filter((one) => one !== '');
}

async function peopleOf({ ctx, live, runs }: Notify): Promise<readonly string[]> {
  const ids = runs.slice(0, NAMED_MAX).map(({ personId }) => personId);
  const addresses = await addressesOf(ctx.db, { customerId: live.key.customerId, listId: live.listId, ids });
  const more = runs.length - ids.length;
  const named = ids.flatMap((id) => addresses.get(id) ?? []);
  return [...named, ...(more > 0 ? [`And ${more} more.`] : [])];
}
