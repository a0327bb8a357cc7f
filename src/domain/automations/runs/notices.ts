/** Mails to the users of a customer about an automation: a node was paused (D87), people were blocked (D83). */
import { enqueueNotices, enqueueSystemMails } from '../../delivery/messages/system-mail.ts';
import type { Context } from '../../context.ts';
import { countBlocked } from '../entries/entry-store.ts';
import { readersOf } from '../engine/outage-store.ts';

/** More users rarely manage one customer's automations. */
const READERS_MAX = 10;
const DAY_LENGTH = 'YYYY-MM-DD'.length;

export interface PausedNode {
  readonly customerId: bigint;
  readonly automationId: bigint;
  readonly node: string;
  /** Within an hour. */
  readonly moved: number;
  readonly parked: number;
}

/** Mails that the node was paused, and what to do. */
export async function enqueuePausedNodeMails(
  ctx: Context,
  jobId: string,
  { node, moved, parked, ...key }: PausedNode,
): Promise<void> {
  const readers = await readersOf(ctx.db, key, { status: 'active', max: READERS_MAX });
  const mails = readers.map(({ email, name }) => ({
    to: email,
    subject: `A step of the automation ${name} was paused`,
    paragraphs: [
      `In the last hour, ${parked} of ${moved} people could not be moved on at the step ${node} of the automation ${name}. They are parked, and the step was paused: nobody else fails there.`,
      'Mend the cause. Then try the parked people again, or let them pass over the step: it goes on with that.',
      ctx.installation.baseUrl,
    ],
  }));
  await enqueueSystemMails(ctx, jobId, mails);
}

/** Mails how many people are blocked, and what to do: once a day for each automation. */
export async function enqueueBlockedPeopleMails(
  ctx: Context,
  key: { readonly customerId: bigint; readonly automationId: bigint },
): Promise<void> {
  const people = await countBlocked(ctx.db, key);
  if (people === 0) return;
  const readers = await readersOf(ctx.db, key, { status: 'active', max: READERS_MAX });
  const day = ctx.clock.now().toISOString().slice(0, DAY_LENGTH);
  await enqueueNotices(
    ctx,
    readers.map(({ email, name }) => ({
      cause: `blocked in flow ${key.automationId} ${day} ${email}`,
      to: email,
      subject: `People enter the automation ${name} again and again`,
      paragraphs: [
        `${people === 1 ? 'One person has' : `${people} people have`} entered the automation ${name} more than 20 times within a day. ${people === 1 ? 'This person enters' : 'They enter'} it no more.`,
        'Look at what lets them in: an event that is sent again and again, or a step that causes it. Then pause the automation and activate it again: that lets them in again.',
        ctx.installation.baseUrl,
      ],
    })),
  );
}
