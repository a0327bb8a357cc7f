/**
 * A campaign's message as its row, its list, its customer's plan and its files make it: read in any state, compiled
 * for sending, previews and the web view.
 */
import { sql, type Queryable } from '../../db/database.ts';
import { countryOf } from '../audience/countries.ts';
import { allowanceOf } from '../billing/allowance.ts';
import { compileMessage } from '../content/compile-message.ts';
import type { CompiledMessage, MessageFooter, MessageSource } from '../content/message.ts';
import type { CampaignKey } from '../statistics/campaign-key.ts';
import { filesOfMessage, type FilesWanted } from './campaign-files.ts';
import type { UnknownPolicy } from './delivery.ts';

export interface SourceRow {
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
  skip_failed_messages: boolean;
  embed_images: boolean;
  unknown_policy: UnknownPolicy;
  hard_refusals: 'held' | 'believed' | null;
  planned_on: string;
  content_version: number;
  list_id: bigint;
  list_uid: string;
  list_name: string;
  customer_uid: string;
  contact: Record<string, string | number | null> | null;
  field_defaults: Record<string, string> | null;
}

export interface CompileOptions {
  /** `none`: for checks of the texts and for pages; `whole`: the message as it leaves, which fails when a file is gone. */
  readonly files: FilesWanted;
  /** Where pages find the pictures; relative to the page without it. */
  readonly baseUrl?: string;
}

/** The message of a campaign in any state, compiled. Throws ValidationError. */
export async function compileCampaign(
  db: Queryable,
  key: CampaignKey,
  options: CompileOptions = { files: 'none' },
): Promise<CompiledMessage | undefined> {
  const row = await readSource(db, key);
  return row && compileSource(db, { key, row, ...options });
}

/** The same from a row that was read already. */
export async function compileSource(
  db: Queryable,
  options: CompileOptions & { key: CampaignKey; row: SourceRow },
): Promise<CompiledMessage> {
  return compileMessage(await messageSource(db, options));
}

/** All that the message of a row is made from. */
export async function messageSource(
  db: Queryable,
  { key, row, files: wanted, baseUrl = '' }: CompileOptions & { key: CampaignKey; row: SourceRow },
): Promise<MessageSource> {
  const html = row.embed_images ? row.html : '';
  const files = await filesOfMessage(db, key, { html, wanted, baseUrl });
  return { ...messageSourceOf(row), files, footer: await footerOf(db, key.customerId) };
}

/** What the customer's plan adds to its mails: to all of them, or only while the plan costs nothing. */
async function footerOf(db: Queryable, customerId: bigint): Promise<MessageFooter | null> {
  const { options, isTrial } = await allowanceOf(db, customerId);
  if (options.email_footer_enabled === 'no') return null;
  if (options.email_footer_trial_period_only === 'yes' && !isTrial) return null;
  return { html: options.html_footer, plain: options.plain_text_footer };
}

/** What the message of a campaign is made from, or undefined when there is no such campaign. */
export async function readSource(
  db: Queryable,
  { customerId, campaignId }: CampaignKey,
): Promise<SourceRow | undefined> {
  const rows = await db.query<SourceRow & Record<string, unknown>>(
    sql`SELECT c.uid, c.name, c.subject, c.from_name, c.from_email, c.reply_to, c.html, c.plain, c.track_open, c.track_click, c.sign_dkim, c.skip_failed_messages, c.embed_images,
               c.unknown_policy, c.hard_refusals, c.planned_on::text AS planned_on, c.content_version, c.list_id, l.uid AS list_uid, l.name AS list_name, u.uid AS customer_uid,
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
