/**
 * A campaign as the sending loop needs it: its part of the ledger, its policy, its message compiled once per
 * process and version.
 */
import { domainToASCII } from 'node:url';
import { sql, type Queryable } from '../../db/database.ts';
import { assert } from '../../lib/errors.ts';
import { countryOf } from '../audience/countries.ts';
import { allowanceOf } from '../billing/allowance.ts';
import { compileMessage } from '../content/compile-message.ts';
import type { CompiledMessage, MessageFooter, MessageSource } from '../content/message.ts';
import { identityFor, type SendingIdentity } from '../sending/identity.ts';
import type { LedgerKey, UnknownPolicy } from './delivery.ts';

export interface Dispatch {
  readonly key: LedgerKey;
  readonly listId: bigint;
  readonly policy: UnknownPolicy;
  /** The sender's domain in ASCII, for Message-IDs. */
  readonly fromDomain: string;
  readonly message: CompiledMessage;
  readonly identity: SendingIdentity;
}

export interface DispatchCache {
  /** The campaign ready to be sent, or undefined when it is not being sent (paused, deleted, done, waiting for its plan). */
  dispatchOf(db: Queryable, customerId: bigint, campaignId: bigint): Promise<Dispatch | undefined>;
}

/** A compiled message holds its html several times over; more campaigns than this are rarely under way in one process. */
const CACHED_MAX = 20;

/** An empty cache. */
export function createDispatchCache(): DispatchCache {
  const cache = new Map<bigint, { version: string; dispatch: Dispatch }>();
  return {
    async dispatchOf(db, customerId, campaignId) {
      const head = await readHead(db, customerId, campaignId);
      if (!head || head.status !== 'sending') return undefined;
      const known = cache.get(campaignId);
      if (known?.version === head.version) return known.dispatch;
      const dispatch = await loadDispatch(db, customerId, campaignId);
      if (!dispatch) return undefined;
      cache.delete(campaignId);
      cache.set(campaignId, { version: head.version, dispatch });
      const [oldest] = cache.keys();
      if (cache.size > CACHED_MAX && oldest !== undefined) cache.delete(oldest);
      return dispatch;
    },
  };
}

async function readHead(db: Queryable, customerId: bigint, campaignId: bigint) {
  const rows = await db.query<{ status: string; version: string }>(
    // A customer that was just disabled sends nothing more, even before its campaigns are paused.
    sql`SELECT CASE WHEN u.status <> 'active' THEN 'paused' WHEN c.waits_until > now() THEN 'waiting' ELSE c.status END AS status,
               concat(c.updated_at, l.updated_at, (
                 SELECT concat(u.id, u.updated_at, p.updated_at) FROM subscription u JOIN plan p ON p.id = u.plan_id
                  WHERE u.customer_id = c.customer_id AND u.status <> 'pending' ORDER BY (u.status = 'ended'), u.id DESC LIMIT 1)) AS version
          FROM campaign c JOIN mail_list l ON l.customer_id = c.customer_id AND l.id = c.list_id
          JOIN customer u ON u.id = c.customer_id
         WHERE c.customer_id = ${customerId} AND c.id = ${campaignId}`,
    'delivery.dispatch-head',
  );
  return rows[0];
}

interface SourceRow {
  uid: string;
  name: string;
  subject: string;
  from_name: string;
  from_email: string;
  reply_to: string;
  html: string;
  plain: string;
  track_open: boolean;
  track_click: boolean;
  sign_dkim: boolean;
  unknown_policy: UnknownPolicy;
  planned_on: string;
  list_id: bigint;
  list_uid: string;
  list_name: string;
  customer_uid: string;
  contact: Record<string, string | number | null> | null;
  field_defaults: Record<string, string> | null;
}

async function loadDispatch(db: Queryable, customerId: bigint, campaignId: bigint): Promise<Dispatch | undefined> {
  const row = await readSource(db, customerId, campaignId);
  if (!row) return undefined;
  assert(row.planned_on !== null, 'a campaign that is being sent has a day in the ledger');
  return {
    key: { plannedOn: row.planned_on, customerId, campaignId },
    listId: row.list_id,
    policy: row.unknown_policy,
    fromDomain: domainToASCII(row.from_email.slice(row.from_email.lastIndexOf('@') + 1)),
    message: await compileMessage({ ...messageSourceOf(row), footer: await footerOf(db, customerId) }),
    identity: await identityFor(db, { customerId, fromEmail: row.from_email, signDkim: row.sign_dkim }),
  };
}

/** The message of a campaign in any state, compiled; for previews and the web view. */
export async function compileCampaign(
  db: Queryable,
  customerId: bigint,
  campaignId: bigint,
): Promise<CompiledMessage | undefined> {
  const row = await readSource(db, customerId, campaignId);
  return row && compileMessage({ ...messageSourceOf(row), footer: await footerOf(db, customerId) });
}

/** What the customer's plan adds to its mails: to all of them, or only while the plan costs nothing. */
async function footerOf(db: Queryable, customerId: bigint): Promise<MessageFooter | null> {
  const { options, isTrial } = await allowanceOf(db, customerId);
  if (options.email_footer_enabled === 'no') return null;
  if (options.email_footer_trial_period_only === 'yes' && !isTrial) return null;
  return { html: options.html_footer, plain: options.plain_text_footer };
}

async function readSource(db: Queryable, customerId: bigint, campaignId: bigint): Promise<SourceRow | undefined> {
  const rows = await db.query<SourceRow & Record<string, unknown>>(
    sql`SELECT c.uid, c.name, c.subject, c.from_name, c.from_email, c.reply_to, c.html, c.plain, c.track_open, c.track_click, c.sign_dkim,
               c.unknown_policy, c.planned_on::text AS planned_on, c.list_id, l.uid AS list_uid, l.name AS list_name, u.uid AS customer_uid,
               (SELECT to_jsonb(t) FROM list_contact t WHERE t.customer_id = c.customer_id AND t.list_id = c.list_id) AS contact,
               (SELECT jsonb_object_agg(f.tag, coalesce(f.default_value, '')) FROM list_field f WHERE f.customer_id = c.customer_id AND f.list_id = c.list_id) AS field_defaults
          FROM campaign c
          JOIN mail_list l ON l.customer_id = c.customer_id AND l.id = c.list_id
          JOIN customer u ON u.id = c.customer_id
         WHERE c.customer_id = ${customerId} AND c.id = ${campaignId}`,
  );
  return rows[0];
}

function messageSourceOf(row: SourceRow): MessageSource {
  const contact = (name: string): string => String(row.contact?.[name] ?? '');
  return {
    kind: 'marketing',
    customerUid: row.customer_uid,
    campaign: { uid: row.uid, name: row.name },
    list: {
      uid: row.list_uid,
      name: row.list_name,
      contact: {
        company: contact('company'),
        address1: contact('address_1'),
        address2: contact('address_2'),
        city: contact('city'),
        state: contact('state'),
        zip: contact('zip'),
        country: countryOf(Number(row.contact?.['country_id']))?.name ?? '',
        phone: contact('phone'),
        email: contact('email'),
        url: contact('url'),
      },
    },
    from: { name: row.from_name, email: row.from_email },
    replyTo: row.reply_to === '' ? null : row.reply_to,
    subject: row.subject,
    html: row.html === '' ? null : row.html,
    plain: row.plain === '' ? null : row.plain,
    trackOpens: row.track_open,
    trackClicks: row.track_click,
    fieldDefaults: row.field_defaults ?? {},
  };
}
