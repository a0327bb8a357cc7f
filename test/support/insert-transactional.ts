/** A transactional mail that waits for its time, and one whose outcome is known. */
import { randomUUID } from 'node:crypto';
import type { Row } from '../../src/rest-facade/row.ts';
import { insertMessage, messageValues } from './insert-message.ts';
import { sql, type Queryable } from '../../src/db/database.ts';
import { enqueueWithIds } from '../../src/domain/messages/enqueue-messages.ts';
import { PRIORITIES } from '../../src/domain/messages/message.ts';
import { insertMailEntries } from '../../src/domain/messages/transactional-mail-store.ts';
import { SOURCE_KINDS } from '../../src/domain/source-key.ts';
import { messageIdOf, messageUid } from '../../src/lib/ids.ts';

const content = {
  texts: { subject: 'Order', preheader: '', html: '<p>Hello</p>', plain: '' },
  from: { name: 'Acme', email: 'valid@sender.example' },
  ...{ replyTo: null, data: {}, headers: [], trackOpens: false, trackClicks: false, hasFiles: false },
};
const DAY_MS = 86_400_000;

/** Writes it and answers its uid. */
async function insertTransactional(db: Queryable, customerId: bigint, email: string): Promise<string> {
  const [written] = await enqueueWithIds(db, [
    {
      source: { customerId, sourceKind: SOURCE_KINDS.transactional, sourceId: 0n },
      ...{ to: { email }, kind: 'transactional', purpose: 'transactional', priority: PRIORITIES.transactional },
      ...{ cause: randomUUID(), content, sendAt: new Date(Date.now() + DAY_MS) },
    },
  ]);
  const messageId = written?.id ?? 0n;
  await insertMailEntries(db, [{ customerId, messageId, externalId: 'order-1', tags: ['receipt'] }]);
  return messageUid(messageId);
}

/** As if a server had refused it. */
export async function refuseTransactional(db: Queryable, uid: string): Promise<void> {
  const id = messageIdOf(uid);
  await db.execute(sql`
    WITH gone AS (DELETE FROM hot.message_queue WHERE message_id = ${id})
    UPDATE hot.delivery SET state = 'failed', reason = 'permanent.mailbox', not_before = NULL WHERE occurrence = ${id}`);
}

/** Both kinds of messages that a world has, for a person on its list. */
export async function insertMails(db: Queryable, person: Parameters<typeof insertMessage>[1], email: string) {
  const messageUid_ = await insertMessage(db, person);
  return { messageUid: messageUid_, transactionalUid: await insertTransactional(db, person.customerId, email) };
}

/** As if it were of the world's template. */
export async function nameTemplate(db: Queryable, { transactionalUid, templateUid }: TemplateMail): Promise<void> {
  const id = messageIdOf(transactionalUid);
  await db.execute(sql`
    WITH t AS (SELECT id FROM template WHERE uid = ${templateUid}),
         m AS (UPDATE hot.message SET source_id = t.id FROM t WHERE hot.message.id = ${id})
    UPDATE hot.delivery SET source_id = t.id FROM t WHERE occurrence = ${id}`);
}

interface TemplateMail {
  readonly transactionalUid: string;
  readonly templateUid: string;
}

/** How the logs are asked for them, and right values of a call for names that mean something else elsewhere. */
export function mailValues(
  { path, method }: Pick<Row, 'path' | 'method'>,
  { subscriberEmail: email, templateUid }: { readonly subscriberEmail: string; readonly templateUid: string },
): Record<string, unknown> {
  if (path !== '/transactional') return messageValues(path, email);
  if (method === 'GET')
    return { state: 'queued', email, tag: 'receipt', external_id: 'order-1', template_uid: templateUid };
  const send_at = new Date(Date.now() + DAY_MS).toISOString();
  const files = { attachments: '', file_uids: '' };
  return { headers: { 'X-Order': '1' }, ...files, tags: 'receipt', external_id: 'order-2', send_at };
}
