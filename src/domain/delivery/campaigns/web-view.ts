/** The message of one recipient as a page, composed again from the present campaign. */
import { isDeepStrictEqual } from 'node:util';
import { subscriberUid } from '../../../lib/ids.ts';
import { compileMessage } from '../../content/compile-message.ts';
import type { CompiledMessage, MessageSource, MessageTexts } from '../../content/message.ts';
import type { Context } from '../../context.ts';
import { linkAddressFor } from '../../sending/identity.ts';
import { linkSignerOf } from '../../tracking/link-signer.ts';
import { campaignOfSource } from '../../statistics/source-read-model.ts';
import { SOURCE_KINDS } from '../../source-key.ts';
import type { TrackedRecipient } from '../../tracking/tracking.ts';
import { messageSource } from './campaign-message.ts';
import { readSource } from './campaign-source-read-model.ts';
import { flowWebView } from '../flow-mails/compose-flow-mail.ts';
import { fieldValues } from '../field-values.ts';
import { exampleValues, tagValuesFor } from './plugin-tags.ts';
import { personOnList } from '../people-read-model.ts';
import { isNobody, SAMPLE_EMAIL, sampleLinks } from './sample-recipient.ts';

/** Readers of a campaign come at the same time, soon after it was sent; compiling takes up to a second for each. */
const KEPT_MS = 10_000;

let kept: { readonly source: MessageSource; readonly message: Promise<CompiledMessage> } | undefined;
const dropTimer = setTimeout(() => (kept = undefined), KEPT_MS).unref();

/** The message that was compiled last, if its source is exactly the same. */
async function compileOnce(source: MessageSource): Promise<CompiledMessage> {
  const one = kept && isDeepStrictEqual(kept.source, source) ? kept : { source, message: compileMessage(source) };
  kept = one;
  dropTimer.refresh();
  try {
    return await one.message;
  } catch (error) {
    if (kept === one) kept = undefined;
    throw error;
  }
}

/** The message, or undefined when the campaign or the person is gone. Its html is the customer's: show it in a sandbox. */
export async function webViewOf(ctx: Context, recipient: TrackedRecipient): Promise<MessageTexts | undefined> {
  if (recipient.sourceKind === SOURCE_KINDS.automation) return flowWebView(ctx, recipient);
  const { customerId, listId, recipientId } = recipient;
  const isSample = isNobody(recipient);
  const person = isSample ? undefined : await personOnList(ctx.db, { customerId, listId, id: recipientId });
  if (!person && !isSample) return undefined;
  const key = campaignOfSource(recipient);
  const row = key && (await readSource(ctx.db, key));
  if (!row) return undefined;
  const { installation } = ctx;
  const { source } = await messageSource(ctx, { key, row, files: 'none', baseUrl: installation.baseUrl });
  const message = await compileOnce(source);
  const at = await linkAddressFor(ctx.db, { customerId, fromEmail: row.from_email });
  const reader = {
    email: person?.email ?? SAMPLE_EMAIL,
    uid: subscriberUid(recipientId),
    fields: fieldValues(person?.fields ?? {}),
  };
  return message.texts({
    ...reader,
    pluginValues: person
      ? (await tagValuesFor(ctx.hooks, message, [reader]))?.of(reader.uid)
      : exampleValues(ctx.hooks, message),
    messageId: '',
    links: isSample
      ? sampleLinks(installation, { ...key, listId }, at)
      : linkSignerOf(installation).forRecipient(recipient, at),
  });
}
