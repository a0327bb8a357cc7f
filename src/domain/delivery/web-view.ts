/** The message of one recipient as a page, composed anew from the campaign as it stands. */
import { sql } from '../../db/database.ts';
import { subscriberUid } from '../../lib/ids.ts';
import type { Context } from '../context.ts';
import { linkAddressFor } from '../sending/identity.ts';
import { linkSignerOf } from '../tracking/link-signer.ts';
import type { TrackedRecipient } from '../tracking/tracking.ts';
import { compileSource, readSource } from './campaign-message.ts';
import { fieldValues } from './field-values.ts';
import { isNobody, NOBODYS_EMAIL, sampleLinks } from './sample-recipient.ts';

/** The html, or undefined when the campaign or the person is gone. It is the customer's: show it in a sandbox. */
export async function webViewOf(ctx: Context, recipient: TrackedRecipient): Promise<string | undefined> {
  const { customerId, campaignId, listId, subscriberId } = recipient;
  const isSample = isNobody(recipient);
  const [person] = isSample
    ? []
    : await ctx.db.query<{ email: string; fields: Record<string, unknown> }>(
        sql`SELECT email, fields FROM subscriber WHERE customer_id = ${customerId} AND list_id = ${listId} AND id = ${subscriberId}`,
      );
  if (!person && !isSample) return undefined;
  const key = { customerId, campaignId };
  const row = await readSource(ctx.db, key);
  if (!row) return undefined;
  const { installation } = ctx;
  const message = await compileSource(ctx.db, { key, row, files: 'none', baseUrl: installation.baseUrl });
  const at = await linkAddressFor(ctx.db, { customerId, fromEmail: row.from_email });
  return message.webView({
    email: person?.email ?? NOBODYS_EMAIL,
    uid: subscriberUid(subscriberId),
    fields: fieldValues(person?.fields ?? {}),
    messageId: '',
    links: isSample ? sampleLinks(installation, recipient, at) : linkSignerOf(installation).forRecipient(recipient, at),
  });
}
