/** The message of one recipient as a page, composed anew from the campaign as it stands. */
import { sql } from '../../db/database.ts';
import { subscriberUid } from '../../lib/ids.ts';
import type { Context } from '../context.ts';
import { linkSignerOf } from '../tracking/link-signer.ts';
import type { TrackedRecipient } from '../tracking/tracking.ts';
import { compileCampaign } from './campaign-message.ts';
import { fieldValues } from './field-values.ts';

/** The html, or undefined when the campaign or the person is gone. It is the customer's: show it in a sandbox. */
export async function webViewOf(ctx: Context, recipient: TrackedRecipient): Promise<string | undefined> {
  const { customerId, campaignId, listId, subscriberId } = recipient;
  const [person] = await ctx.db.query<{ email: string; fields: Record<string, unknown> }>(
    sql`SELECT email, fields FROM subscriber WHERE customer_id = ${customerId} AND list_id = ${listId} AND id = ${subscriberId}`,
  );
  const message =
    person &&
    (await compileCampaign(ctx.db, { customerId, campaignId }, { files: 'none', baseUrl: ctx.installation.baseUrl }));
  return message?.webView({
    email: person?.email ?? '',
    uid: subscriberUid(subscriberId),
    fields: fieldValues(person?.fields ?? {}),
    messageId: '',
    links: linkSignerOf(ctx.installation).forRecipient(recipient),
  });
}
