/** Reads the sources of a campaign's message, and their version. */
import { sql, row, typed, type Queryable, type RowOf } from '../../../db/database.ts';
import { countryOf } from '../../audience/countries.ts';
import type { ListContact } from '../../audience/list-fields.ts';
import { CONTACT_OBJECT } from '../../audience/list-store.ts';
import { NO_CONTACT, type MessageSource } from '../../content/message.ts';
import { identityVersion } from '../../sending/domains/sending-domain-read-model.ts';
import type { CampaignKey } from '../../statistics/campaign-key.ts';
import type { UnknownPolicy } from '../ledger/delivery.ts';

/** What a list gives to each message that is sent to it. */
const LIST_COLUMNS = {
  list_uid: 'text',
  list_name: 'text',
  remind_message: 'text?',
  customer_uid: 'text',
  contact: typed<ListContact>('json?'),
  field_defaults: typed<Record<string, string>>('json?'),
} as const;

const SOURCE_ROW = row({
  uid: 'text',
  name: 'text',
  subject: 'text',
  preheader: 'text',
  from_name: 'text',
  from_email: 'text',
  reply_to: 'text',
  html: 'text',
  plain: 'text',
  track_open: 'bool',
  track_click: 'bool',
  sign_dkim: 'bool',
  skip_failed_messages: 'bool',
  embed_images: 'bool',
  unknown_policy: typed<UnknownPolicy>('text'),
  bounce_spike: typed<'held' | 'believed'>('text?'),
  snapshot_on: 'text?',
  content_version: 'int',
  list_id: 'bigint',
  list_cap: 'json?',
  customer_cap: 'json?',
  ...LIST_COLUMNS,
});
export type SourceRow = RowOf<typeof SOURCE_ROW>;

/** The sources of a campaign's message, or undefined when there is no such campaign. */
export async function readSource(
  db: Queryable,
  { customerId, campaignId }: CampaignKey,
): Promise<SourceRow | undefined> {
  const rows = await db.query(
    SOURCE_ROW,
    sql`SELECT c.uid, c.name, c.subject, c.preheader, c.from_name, c.from_email, c.reply_to, c.html, c.plain, c.track_open, c.track_click, c.sign_dkim, c.skip_failed_messages, c.embed_images,
               c.unknown_policy, c.bounce_spike, c.snapshot_on::text AS snapshot_on, c.content_version, c.list_id, l.frequency_cap AS list_cap, u.frequency_cap AS customer_cap, l.uid AS list_uid, l.name AS list_name, l.remind_message, u.uid AS customer_uid,
               (SELECT ${CONTACT_OBJECT} FROM list_contact c WHERE c.customer_id = l.customer_id AND c.list_id = l.id) AS contact,
               (SELECT jsonb_object_agg(f.tag, coalesce(f.default_value, '')) FROM list_field f WHERE f.customer_id = c.customer_id AND f.list_id = c.list_id) AS field_defaults
          FROM campaign c
          JOIN mail_list l ON l.customer_id = c.customer_id AND l.id = c.list_id
          JOIN customer u ON u.id = c.customer_id
         WHERE c.customer_id = ${customerId} AND c.id = ${campaignId}`,
  );
  return rows[0];
}

/** The same with what stands in for the sender and subject of a message. */
const LIST_SOURCE_ROW = row({
  from_name: 'text',
  from_email: 'text',
  default_subject: 'text',
  ...LIST_COLUMNS,
});

/** The sources of an empty message to a list, as of a campaign that is not stored; undefined: there is no such list. */
export async function readListSource(
  db: Queryable,
  { customerId, listId }: { readonly customerId: bigint; readonly listId: bigint },
): Promise<SourceRow | undefined> {
  const [list] = await db.query(
    LIST_SOURCE_ROW,
    sql`SELECT l.from_name, l.from_email, l.default_subject, l.uid AS list_uid, l.name AS list_name, l.remind_message, u.uid AS customer_uid,
               (SELECT ${CONTACT_OBJECT} FROM list_contact c WHERE c.customer_id = l.customer_id AND c.list_id = l.id) AS contact,
               (SELECT jsonb_object_agg(f.tag, coalesce(f.default_value, '')) FROM list_field f WHERE f.customer_id = l.customer_id AND f.list_id = l.id) AS field_defaults
          FROM mail_list l
          JOIN customer u ON u.id = l.customer_id
         WHERE l.customer_id = ${customerId} AND l.id = ${listId}`,
    'delivery.list_source',
  );
  if (!list) return undefined;
  const { default_subject: subject, ...ofList } = list;
  return { ...NOT_STORED, ...ofList, subject, list_id: listId };
}

/** What a campaign has from the beginning. */
const NOT_STORED: Omit<SourceRow, 'list_id' | 'subject' | keyof RowOf<typeof LIST_SOURCE_ROW>> = {
  ...{ uid: '', name: '', preheader: '', reply_to: '', html: '', plain: '' },
  ...{ track_open: true, track_click: true, sign_dkim: true, skip_failed_messages: false, embed_images: false },
  unknown_policy: 'park',
  ...{ bounce_spike: null, snapshot_on: null, content_version: 0, list_cap: null, customer_cap: null },
};

/** Whether the campaign is being sent, and the version of its sources. */
export async function readEditionHead(
  db: Queryable,
  { customerId, campaignId }: CampaignKey,
): Promise<{ status: string; version: string } | undefined> {
  const rows = await db.query(
    { status: 'text', version: 'text' },
    // A disabled customer sends nothing more, even before its campaigns are paused.
    sql`SELECT CASE WHEN u.status <> 'active' THEN 'paused' WHEN c.wait_kind IS NOT NULL AND coalesce(c.wait_until > now(), true) THEN 'waiting' ELSE c.status END AS status,
               concat_ws('|', c.content_version, coalesce(c.bounce_spike, ''), l.updated_at, u.frequency_cap, u.timezone, (
                 SELECT concat_ws('|', u.id, u.updated_at, p.updated_at) FROM subscription u JOIN plan p ON p.id = u.plan_id
                  WHERE u.customer_id = c.customer_id AND u.status <> 'pending' ORDER BY (u.status = 'ended'), u.id DESC LIMIT 1), ${identityVersion(sql`c.customer_id`)}) AS version
          FROM campaign c JOIN mail_list l ON l.customer_id = c.customer_id AND l.id = c.list_id
          JOIN customer u ON u.id = c.customer_id
         WHERE c.customer_id = ${customerId} AND c.id = ${campaignId}`,
    'delivery.edition-head',
  );
  return rows[0];
}

/** What the message of a row is made from, but for its files and what the plan adds. */
export function messageSourceOf(row: SourceRow): MessageSource {
  return {
    kind: 'marketing',
    customerUid: row.customer_uid,
    campaign: { uid: row.uid, name: row.name },
    list: {
      uid: row.list_uid,
      name: row.list_name,
      remindMessage: row.remind_message,
      contact: row.contact ? { ...row.contact, country: countryOf(row.contact.countryId)?.name ?? '' } : NO_CONTACT,
    },
    from: { name: row.from_name, email: row.from_email },
    replyTo: row.reply_to === '' ? null : row.reply_to,
    subject: row.subject,
    preheader: row.preheader,
    html: row.html === '' ? null : row.html,
    plain: row.plain === '' ? null : row.plain,
    trackOpens: row.track_open,
    trackClicks: row.track_click,
    fieldDefaults: row.field_defaults ?? {},
  };
}
