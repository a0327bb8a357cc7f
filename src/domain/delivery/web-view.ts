/** The message of one recipient as a page, composed anew from the campaign as it stands. */
import { sql } from '../../db/database.ts';
import { subscriberUid } from '../../lib/ids.ts';
import type { Context } from '../context.ts';
import { linkSignerOf } from '../tracking/link-signer.ts';
import type { TrackedRecipient } from '../tracking/tracking.ts';
import { compileCampaign } from './campaign-message.ts';
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
  const options = { files: 'none', baseUrl: ctx.installation.baseUrl } as const;
  const message = await compileCampaign(ctx.db, { customerId, campaignId }, options);
  return message?.webView({
    email: person?.email ?? NOBODYS_EMAIL,
    uid: subscriberUid(subscriberId),
    fields: fieldValues(person?.fields ?? {}),
    messageId: '',
    links: isSample ? sampleLinks(ctx.installation, recipient) : linkSignerOf(ctx.installation).forRecipient(recipient),
  });
}
