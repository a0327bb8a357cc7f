/** Mails to the users of a customer about an automation: a node was paused (D87), people were blocked (D83), people wait for a plugin. */
import { unavailableText } from '../../audience/segments/segment-errors.ts';
import { enqueueNotices, enqueueSystemMails } from '../../delivery/messages/system-mail.ts';
import type { Context } from '../../context.ts';
import { countBlocked } from '../entries/entry-store.ts';
import { readersOf } from '../engine/outage-store.ts';
import { liveVersionOf } from './count-read-model.ts';
import { unansweredNodes } from './node-store.ts';

/** More users rarely manage one customer's automations. */
const READERS_MAX = 10;
/** In a mail; more are rare. */
const NODES_NAMED_MAX = 10;
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

interface AutomationKey {
  readonly customerId: bigint;
  readonly automationId: bigint;
}

/** Mails how many people are blocked, and what to do: once a day for each automation. */
export async function enqueueBlockedPeopleMails(ctx: Context, key: AutomationKey): Promise<void> {
  const people = await countBlocked(ctx.db, key);
  if (people === 0) return;
  const readers = await readersOf(ctx.db, key, { status: 'active', max: READERS_MAX });
  const day = today(ctx);
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

/** Mails where people wait for a plugin, and what to do: once a day for each automation. */
export async function enqueueUnansweredMails(ctx: Context, key: AutomationKey): Promise<void> {
  const paragraphs = await unansweredParagraphs(ctx, key);
  if (paragraphs.length === 0) return;
  const readers = await readersOf(ctx.db, key, { status: 'active', max: READERS_MAX });
  const mails = readers.map(({ email, name }) => ({
    cause: `unanswered in flow ${key.automationId} ${today(ctx)} ${email}`,
    to: email,
    subject: `The automation ${name} waits for a plugin`,
    paragraphs,
  }));
  await enqueueNotices(ctx, mails);
}

const NOT_READ =
  'What happens to people lets nobody in and ends no wait meanwhile. It is kept, and has its effect later.';
const GO_ON = 'Everybody keeps their place, and goes on within a minute after the plugin has answered.';

/** None: nothing waits for a plugin any more. */
async function unansweredParagraphs({ db, installation }: Context, key: AutomationKey): Promise<readonly string[]> {
  const nodes = await unansweredNodes(db, key, NODES_NAMED_MAX);
  const notRead = (await liveVersionOf(db, key))?.postponedFor;
  const about = nodes[0]?.about ?? notRead;
  if (!about) return [];
  const places = nodes.map(({ node, waiting }) => `${node} (${waiting})`).join(', ');
  const people = nodes.length > 0 ? [`People wait at these steps, with their number: ${places}.`] : [];
  return [unavailableText(about), ...people, ...(notRead ? [NOT_READ] : []), GO_ON, installation.baseUrl];
}

function today({ clock }: Context): string {
  return clock.now().toISOString().slice(0, DAY_LENGTH);
}
