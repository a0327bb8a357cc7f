/**
 * The recipient of a message that is not sent: previews, tests and pages of tests. The values may be a real person's; the links
 * never are, so that using them counts and changes nothing.
 */
import { subscriberUid } from '../../../lib/ids.ts';
import type { Context, Installation } from '../../context.ts';
import type { CompiledMessage, FieldValue, PluginValues, RecipientLinks } from '../../content/message.ts';
import type { DeliveryKey } from '../../source-key.ts';
import { linkSignerOf } from '../../tracking/link-signer.ts';
import { recipientOfCampaign } from '../../tracking/tracking.ts';
import { fieldValues } from '../field-values.ts';
import { exampleValues, tagValuesFor } from './plugin-tags.ts';
import { personOnList } from '../people-read-model.ts';

export interface SampleCampaign {
  readonly customerId: bigint;
  readonly listId: bigint;
  readonly campaignId: bigint;
}

/** A message with merge tags of plugins. */
type TaggedSample = Pick<CompiledMessage, 'pluginTags'>;

export interface SampleValues {
  readonly email: string;
  readonly uid: string;
  readonly fields: Readonly<Record<string, FieldValue>>;
  readonly pluginValues: PluginValues;
}

/** Subscriber 0. A tracked link leads to its target; the unsubscribe page says that the link is from a test. */
const NOBODY = 0n;
export const SAMPLE_EMAIL = 'reader@example.com';

/** Values of the person, or sample values when there is none. */
export async function sampleValues(
  ctx: Context,
  { sample: { customerId, listId }, message }: { sample: SampleCampaign; message: TaggedSample },
  subscriberId: bigint | null,
): Promise<SampleValues> {
  const person =
    subscriberId === null ? undefined : await personOnList(ctx.db, { customerId, listId, id: subscriberId });
  if (!person || subscriberId === null) {
    const pluginValues = exampleValues(ctx.hooks, message);
    return { email: SAMPLE_EMAIL, uid: subscriberUid(NOBODY), fields: {}, pluginValues };
  }
  const one = { email: person.email, uid: subscriberUid(subscriberId), fields: fieldValues(person.fields) };
  return { ...one, pluginValues: (await tagValuesFor(ctx.hooks, message, [one]))?.of(one.uid) ?? {} };
}

/** Links that lead to their targets without a subscriber: clicks and opens count for no campaign. */
export function sampleLinks(installation: Installation, campaign: SampleCampaign, at?: string): RecipientLinks {
  const signer = linkSignerOf(installation);
  const nobody = { ...campaign, subscriberId: NOBODY };
  const links = signer.forRecipient(recipientOfCampaign({ ...nobody, campaignId: 0n }), at);
  const page = signer.forRecipient(recipientOfCampaign(nobody), at);
  return {
    click: (no, url) => links.click(no, url),
    open: () => links.open(),
    unsubscribe: () => links.unsubscribe(),
    updateProfile: () => links.updateProfile(),
    webView: () => page.webView(),
  };
}

/** Whether a link is one of a preview or a test. */
export function isNobody({ recipientId }: Pick<DeliveryKey, 'recipientId'>): boolean {
  return recipientId === NOBODY;
}
