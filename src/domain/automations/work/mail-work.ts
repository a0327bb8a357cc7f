/**
 * Sends a mail: enqueued in the transaction of the step, once for each run, node and pass (D81). Who may get it is checked here and
 * once more when it is handed over (D80): the status on the list, suppression, the flow's state. A skip is never tried again.
 */
import { mailData, type MailData } from '../../content/mail-data.ts';
import { parseFrequencyCaps } from '../../audience/frequency-cap.ts';
import { parseQuietHours } from '../../audience/quiet-hours.ts';
import { cappedPeople } from '../../delivery/capped-message-read-model.ts';
import { enqueueFlowMails, type FlowMail } from '../../delivery/flow-mails/flow-mail.ts';
import type { TemplateKind } from '../../content/templates/template.ts';
import { kindOfTemplate, peopleWithMail, storedHolding, type StoredHolding } from './flow-mail-read-model.ts';
import { failed, type NodeWork, type Outcome, type PresentRun } from './node-work.ts';
import { endOfQuiet } from '../flow/quiet-time.ts';
import { passOf } from '../runs/run.ts';
import { zoneOf } from '../runs/zones.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

type Mail = NodeWork<'send_mail'>;

export async function sendMails(work: Mail): Promise<readonly Outcome[]> {
  const { ctx, live, node, runs } = work;
  const { customerId, automationId } = live.key;
  const kind = await kindOfTemplate(ctx.db, { customerId, uid: node.templateUid });
  if (kind === undefined) return runs.map(() => failed(work, 'template_deleted'));
  const checked = await judgedMails(work, kind);
  const messageIds = await enqueueFlowMails(ctx.db, {
    ...{ customerId, automationId, listId: live.listId, kind, mails: checked.filter((one) => 'runId' in one) },
    ...{ templateUid: node.templateUid, subject: node.subject ?? null },
  });
  let next = 0;
  return checked.map((one): Outcome => {
    if (!('runId' in one)) return one;
    const details = { templateUid: node.templateUid, messageId: String(messageIds[next++]) };
    return { go: 'next', details };
  });
}

/** For each run the mail that it gets now, or why it gets none now. Changes nothing. */
export async function judgedMails(work: Mail, kind: TemplateKind): Promise<readonly (FlowMail | Outcome)[]> {
  const { node, runs } = work;
  const ids = runs.map(({ personId }) => personId);
  const havingIt = await whoHasIt(work, ids);
  const heldBack = kind === 'transactional' ? () => undefined : await holding(work, ids);
  return runs.map((run): FlowMail | Outcome => {
    const denied = denialOf(node, run, havingIt);
    if (denied) return denied;
    const held = heldBack(run);
    if (held) return held;
    const payload = payloadOf(run);
    if (payload === 'unusable') return failed(work, 'payload_unusable');
    havingIt?.add(run.personId);
    const { id: runId, personId, person } = run;
    return { runId, node: node.id, pass: passOf(run, node.id), personId, status: person.status, payload };
  });
}

/** Undefined: the node does not ask. Grows while the batch is worked on: two runs of one person may be in it. */
async function whoHasIt({ ctx, live, node, now }: Mail, ids: readonly bigint[]): Promise<Set<bigint> | undefined> {
  if (node.notAgainWithinDays === undefined) return undefined;
  const since = new Date(now.getTime() - node.notAgainWithinDays * DAY_MS);
  return new Set(await peopleWithMail(ctx.db, { ...live.key, templateUid: node.templateUid, ids, since }));
}

type Hold = (run: PresentRun) => Outcome | undefined;

/** What each person's mail waits for, or why it is not sent; undefined: it goes. It is judged anew then, with all other checks. */
async function holding(work: Mail, ids: readonly bigint[]): Promise<Hold> {
  const { ctx, live } = work;
  const stored = await storedHolding(ctx.db, { customerId: live.key.customerId, listId: live.listId });
  if (!stored) return () => undefined;
  const quiet = quietTimes(work, stored);
  const capped = await cappedTimes(work, { stored, ids });
  return (run) => quiet(run) ?? capped(run);
}

function quietTimes({ zones, node, now }: Mail, { quietHours }: StoredHolding): Hold {
  const quiet = parseQuietHours(quietHours);
  if (!quiet) return () => undefined;
  return ({ id, person }) => {
    const waitUntil = endOfQuiet(quiet, { zone: zoneOf(zones, person), now, seed: `${id} ${node.id}` });
    return waitUntil && { waitUntil, reason: 'quiet_hours' };
  };
}

/** Who would have to wait for longer than the cap holds messages goes on without the mail. Who has left gets the goodbye in any case. */
async function cappedTimes(
  { ctx, live, now }: Mail,
  { stored, ids }: { readonly stored: StoredHolding; readonly ids: readonly bigint[] },
): Promise<Hold> {
  const caps = parseFrequencyCaps({ customer: stored.customerCap, list: stored.listCap });
  if (!caps) return () => undefined;
  const { key, listId } = live;
  const people = await cappedPeople(ctx.db, { customerId: key.customerId, listId, ids, caps, at: now });
  return ({ personId, person, since }) => {
    const capped = person.status === 'subscribed' ? people.get(personId) : undefined;
    if (!capped) return undefined;
    const isTooLong = capped.until.getTime() > since.getTime() + capped.holdHours * HOUR_MS;
    return isTooLong ? { go: 'next', reason: 'frequency_cap' } : { waitUntil: capped.until, reason: 'frequency_cap' };
  };
}

/** A goodbye mail goes to who has left, too. Whoever is suppressed has left the flow, unless the flow itself ended the subscription (D80). */
function denialOf(
  node: Mail['node'],
  { personId, person }: PresentRun,
  havingIt: ReadonlySet<bigint> | undefined,
): Outcome | undefined {
  const hasLeft = person.status === 'unsubscribed' && node.isGoodbye === true;
  if (person.status !== 'subscribed' && !hasLeft) return { go: 'next', reason: person.status };
  if (person.isSuppressed) return { go: 'next', reason: 'suppressed' };
  return havingIt?.has(personId) ? { go: 'next', reason: 'sent_recently' } : undefined;
}

/** `execute` takes deeper data than a mail can use. */
function payloadOf({ payload }: PresentRun): MailData | null | 'unusable' {
  if (payload === null) return null;
  const read = mailData.safeParse(payload);
  return read.success ? read.data : 'unusable';
}
