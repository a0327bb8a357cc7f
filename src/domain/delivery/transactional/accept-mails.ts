/** Writes checked mails of one customer in one transaction, with one statement of each kind for all of them. */
import { randomUUID } from 'node:crypto';
import { ExpectedError } from '../../../lib/errors.ts';
import { emailKey } from '../../../lib/text.ts';
import { addSubscriber } from '../../audience/add-subscriber.ts';
import { templateNotFound } from '../../content/templates/template-errors.ts';
import { holdTemplates } from '../../content/templates/template-store.ts';
import type { TransactionContext } from '../../context.ts';
import { enqueueWithIds } from '../../messages/enqueue-messages.ts';
import type { NewMessage } from '../../messages/message.ts';
import { insertMailEntries, insertMessageFiles } from '../../messages/transactional-mail-store.ts';
import { SOURCE_KINDS } from '../../source-key.ts';
import type { CheckedMail } from './check-mail.ts';
import { NONE } from './mail-source.ts';
import { knownRecipients, messagesOfCauses, type KnownRecipient } from './recipients-read-model.ts';
import type { AcceptedMail } from './transactional.ts';
import { priorityOf } from './waiting.ts';

/** What became of a call: an answer for each of its recipients, in their order, or why nothing of it was written. */
export type Acceptance = { readonly mails: readonly AcceptedMail[] } | { readonly fault: unknown };

/** Enqueues a message for each recipient of each mail. Of several with the same external id the first is new, the others are duplicates. */
export async function acceptMails(
  tx: TransactionContext,
  customerId: bigint,
  mails: readonly CheckedMail[],
): Promise<Acceptance[]> {
  const held = await holdTemplates(tx.db, customerId, [
    ...new Set(mails.flatMap(({ template }) => template?.id ?? [])),
  ]);
  const isGone = ({ template }: CheckedMail) => template !== undefined && !held.has(template.id);
  const usable = mails.filter((mail) => !isGone(mail));
  for (const mail of usable) if (mail.input.upsertSubscriber && mail.list) await addMissing(tx, mail);
  const planned = await planAll(tx, customerId, usable);
  const ids = await writeAll(tx, customerId, planned);
  const byMail = Map.groupBy(planned, ({ mail }) => mail);
  return mails.map((mail) =>
    isGone(mail)
      ? { fault: templateNotFound() }
      : { mails: (byMail.get(mail) ?? []).map((one) => acceptedMail(one, ids)) },
  );
}

interface Planned {
  readonly mail: CheckedMail;
  readonly email: string;
  /** Null: the ledger cannot have it. */
  readonly message: NewMessage | null;
  readonly suppression: string | null;
}

async function planAll(tx: TransactionContext, customerId: bigint, mails: readonly CheckedMail[]): Promise<Planned[]> {
  const recipients = mails.flatMap((mail) => mail.input.to.map((to) => ({ mail, to })));
  const asked = recipients.map(({ mail, to }) => ({ listId: mail.list?.id ?? NONE, emailKey: emailKey(to.email) }));
  const known = await knownRecipients(tx.db, customerId, asked);
  return known.flatMap((recipient, no) => {
    const { mail, to } = recipients[no] ?? {};
    return mail && to ? [{ mail, email: to.email, ...plan(customerId, { mail, to, recipient }) }] : [];
  });
}

/** Of the messages, by their causes. */
interface WrittenIds {
  /** The message that was new is its, and not another's with the same cause. */
  readonly ofNew: ReadonlyMap<Planned, bigint>;
  readonly ofCause: ReadonlyMap<string, bigint>;
}

async function writeAll(
  { db }: TransactionContext,
  customerId: bigint,
  planned: readonly Planned[],
): Promise<WrittenIds> {
  const firsts = new Map<string, Planned>();
  for (const one of planned) if (one.message && !firsts.has(one.message.cause)) firsts.set(one.message.cause, one);
  const messages = [...firsts.values()].flatMap(({ message }) => message ?? []);
  const written = messages.length > 0 ? await enqueueWithIds(db, messages) : [];
  const added = written.flatMap(({ id, cause }) => {
    const one = firsts.get(cause);
    return one ? [{ id, cause, one }] : [];
  });
  if (added.length > 0)
    await insertMailEntries(
      db,
      added.map(({ id: messageId, one: { mail } }) => ({
        ...{ customerId, messageId },
        ...{ externalId: mail.input.externalId || null, tags: mail.input.tags ?? [] },
      })),
    );
  for (const [{ files }, ofMail] of Map.groupBy(added, ({ one }) => one.mail))
    if (files.length > 0) await insertMessageFiles(db, { customerId, messageIds: ofMail.map(({ id }) => id) }, files);
  const ofCause = new Map(added.map(({ id, cause }) => [cause, id]));
  const others = [...firsts.keys()].filter((cause) => !ofCause.has(cause));
  const before = others.length > 0 ? await messagesOfCauses(db, customerId, others) : [];
  for (const { id, cause } of before) ofCause.set(cause, id);
  return { ofNew: new Map(added.map(({ id, one }) => [one, id])), ofCause };
}

function acceptedMail(planned: Planned, { ofNew, ofCause }: WrittenIds): AcceptedMail {
  const { mail, email, message, suppression } = planned;
  if (!message) return { email, id: null, state: 'suppressed', reason: suppression };
  const id = ofNew.get(planned);
  if (id === undefined) return { email, id: ofCause.get(message.cause) ?? null, state: 'duplicate', reason: null };
  if (suppression !== null) return { email, id, state: 'suppressed', reason: suppression };
  return { email, id, state: isAhead(mail.input.sendAt) ? 'scheduled' : 'accepted', reason: null };
}

function isAhead(sendAt: Date | null | undefined): boolean {
  return sendAt ? sendAt.getTime() > Date.now() : false;
}

interface Recipient {
  readonly mail: CheckedMail;
  readonly to: CheckedMail['input']['to'][number];
  readonly recipient: KnownRecipient;
}

/** The message for one recipient. One that is suppressed is written, too, so that the log has it; the sender closes it. */
function plan(customerId: bigint, { mail, to: given, recipient }: Recipient): Omit<Planned, 'mail' | 'email'> {
  const { input, template, list, content } = mail;
  const { subscriberId, status, emailKey: key } = recipient;
  const kind = template?.kind ?? 'transactional';
  // Without a person on the list there is nothing to unsubscribe.
  if (kind !== 'transactional' && subscriberId === null) return { message: null, suppression: 'not_on_list' };
  const to =
    kind === 'transactional' || subscriberId === null
      ? { email: given.email }
      : { subscriberId, listId: list?.id ?? NONE, status: 'subscribed' };
  const offList = kind !== 'transactional' && status !== 'subscribed' ? status : null;
  const sourceId = template?.id ?? NONE;
  const message: NewMessage = {
    ...{ source: { customerId, sourceKind: SOURCE_KINDS.transactional, sourceId }, to, kind },
    ...{ purpose: 'transactional', priority: priorityOf(kind) },
    cause: input.externalId ? `external ${sourceId} ${input.externalId} ${key}` : `mail ${randomUUID()}`,
    content: { ...content, data: { ...input.data, ...given.data } },
    ...(isAhead(input.sendAt) && input.sendAt ? { sendAt: input.sendAt } : {}),
  };
  return { message, suppression: recipient.suppression ?? offList };
}

const CANNOT_BE_ADDED = ['EMAIL_SUPPRESSED', 'EMAIL_TAKEN'];

/** Adds who is not on the list, without consent to anything: they get no campaign until they subscribe. */
async function addMissing(tx: TransactionContext, { input, list }: CheckedMail): Promise<void> {
  if (!list) return;
  const asked = input.to.map(({ email }) => ({ listId: list.id, emailKey: emailKey(email) }));
  const known = await knownRecipients(tx.db, list.customerId, asked);
  for (const [no, { subscriberId, suppression }] of known.entries()) {
    const email = input.to[no]?.email;
    if (subscriberId !== null || suppression !== null || email === undefined) continue;
    await addSubscriber(tx, { listUid: list.uid, email, status: 'unconfirmed' }).catch((error: unknown) => {
      // Another call was faster, or the person was erased: the mail is sent all the same.
      if (!(error instanceof ExpectedError) || !CANNOT_BE_ADDED.includes(error.code)) throw error;
    });
  }
}
