/** Composes messages like the sending loop and hands none over: for dry runs. */
import { row, type RowOf, typed } from '../../../db/database.ts';
import { giveBack } from '../../../lib/blocks.ts';
import { subscriberUid } from '../../../lib/ids.ts';
import { faultSentence, isRunaway } from '../../content/template-fault.ts';
import type { CompiledMessage, MessageRecipient } from '../../content/message.ts';
import type { Context } from '../../context.ts';
import { deliveryMessageId } from '../../tracking/delivery-message-id.ts';
import { linkSignerOf } from '../../tracking/link-signer.ts';
import { recipientOfCampaign } from '../../tracking/tracking.ts';
import { fieldValues } from '../field-values.ts';
import { tagValuesFor } from './plugin-tags.ts';

export const DRY_PERSON_ROW = row({
  id: 'bigint',
  email: 'text',
  fields: typed<Readonly<Record<string, unknown>>>('json'),
  /** Why there is no message; null: there is one. */
  denialReason: 'text?',
});
export type DryPerson = RowOf<typeof DRY_PERSON_ROW>;

interface DryCampaign {
  readonly customerId: bigint;
  readonly campaignId: bigint;
  readonly listId: bigint;
  readonly message: CompiledMessage;
}

export interface DryResult {
  readonly composed: number;
  readonly faulty: number;
  readonly bytes: number;
  readonly largestBytes: number;
  readonly workMs: number;
  readonly skipped: Readonly<Record<string, number>>;
  readonly faults: readonly { readonly subscriberId: string; readonly text: string }[];
}

interface DryReader extends Pick<MessageRecipient, 'email' | 'uid' | 'fields' | 'pluginValues'> {
  readonly id: bigint;
}

/** As many at once as a server takes; of a message with large files not all copies are in memory at once. */
const AT_ONCE = 50;
const OPEN_BYTES_MAX = 33_554_432;
/** The domain of a Message-ID that is never sent. */
const DOMAIN = 'dry-run.invalid';
const FAULT_LENGTH_MAX = 500;

/** Throws ValidationError `TEMPLATE_RUNAWAY`: a template that has to be stopped for one is not tried for all. */
export async function composeAll(
  ctx: Context,
  campaign: DryCampaign,
  people: readonly DryPerson[],
): Promise<DryResult> {
  const skipped: Record<string, number> = {};
  for (const { denialReason } of people)
    if (denialReason !== null) skipped[denialReason] = (skipped[denialReason] ?? 0) + 1;
  const readers = people.filter(({ denialReason }) => denialReason === null);
  const start = performance.now();
  const faults: { subscriberId: string; text: string }[] = [];
  let [bytes, largestBytes] = [0, 0];
  const atOnce = Math.max(1, Math.min(AT_ONCE, Math.floor(OPEN_BYTES_MAX / campaign.message.staticBytes)));
  for (let from = 0; from < readers.length; from += atOnce) {
    const together = readers.slice(from, from + atOnce).map((person) => ({
      ...{ id: person.id, uid: subscriberUid(person.id), email: person.email, fields: fieldValues(person.fields) },
    }));
    const values = await tagValuesFor(ctx.hooks, campaign.message, together);
    const sizes = await Promise.all(
      together.map((reader) => sizeFor(ctx, campaign, { ...reader, pluginValues: values?.of(reader.uid) })),
    );
    for (const size of sizes) {
      if (typeof size !== 'number') faults.push(size);
      else [bytes, largestBytes] = [bytes + size, Math.max(largestBytes, size)];
    }
  }
  const workMs = performance.now() - start;
  const composed = readers.length - faults.length;
  return { composed, faulty: faults.length, bytes, largestBytes, workMs, skipped, faults };
}

/** The size of the person's message, or its fault. */
async function sizeFor(ctx: Context, { message, ...key }: DryCampaign, { id, ...reader }: DryReader) {
  const recipient = recipientOfCampaign({ ...key, subscriberId: id });
  try {
    const { content } = await message.fill({
      ...reader,
      messageId: deliveryMessageId(ctx.installation, recipient, DOMAIN),
      links: linkSignerOf(ctx.installation).forRecipient(recipient),
    });
    const { length } = content;
    giveBack(content);
    return length;
  } catch (error) {
    if (isRunaway(error)) throw error;
    return { subscriberId: String(id), text: faultSentence(error).slice(0, FAULT_LENGTH_MAX) };
  }
}
