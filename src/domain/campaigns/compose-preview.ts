/** Composes one message as a person would get it, for previews: with their values, and with links of nobody. */
import { randomBytes } from 'node:crypto';
import { createConcurrencyLimit } from '../../lib/concurrency-limit.ts';
import { httpAddress } from '../../lib/http-address.ts';
import { viewerOf, type Context } from '../context.ts';
import { brokenLinkWarning } from '../content/message-warnings.ts';
import type { MailData } from '../content/mail-data.ts';
import type { CompiledMessage, RecipientLinks, TrackedLink } from '../content/message.ts';
import { sampleLinks, sampleValues, type SampleCampaign } from '../delivery/campaigns/sample-recipient.ts';
import { linkAddressFor } from '../sending/identity.ts';
import { tooManyPreviews } from './campaign-errors.ts';

export interface ComposedPreview {
  readonly subject: string;
  /** Null: there is only plain text. Not trusted: show it in a sandbox. */
  readonly html: string | null;
  readonly plain: string;
  /** As they are sent, unfolded; without signatures and return-path. */
  readonly headers: readonly { readonly name: string; readonly value: string }[];
  readonly sizeBytes: number;
  readonly links: readonly TrackedLink[];
  readonly warnings: readonly string[];
}

/** Of its texts, in UTF-8. */
export function bytesOfPreview({ html, plain, links }: ComposedPreview): number {
  const texts = [html ?? '', plain, ...links.map(({ url }) => url)];
  return texts.reduce((bytes, text) => bytes + Buffer.byteLength(text), 0);
}

/** A message with its files is in memory several times while it is composed: a hundred megabytes of the web process. */
const composing = createConcurrencyLimit({
  runningMax: 2,
  runningPerKeyMax: 1,
  waitingPerKeyMax: 20,
  refuse: tooManyPreviews,
});

/** Runs the work when no other preview of the customer is composed. Throws RateLimitedError `TOO_MANY_PREVIEWS`. */
export function whenFree<T>(ctx: Context, work: () => Promise<T>): Promise<T> {
  return composing.run(work, String(viewerOf(ctx).customerId));
}

interface PreviewOf {
  readonly message: CompiledMessage;
  readonly sample: SampleCampaign;
  /** Whose values it is filled with; null: sample values. */
  readonly subscriberId: bigint | null;
  readonly fromEmail: string;
  /** `data.*` of its Liquid. */
  readonly data?: MailData | undefined;
}

/** The message filled for one person. Throws ValidationError when it cannot be composed. */
export async function composePreview(ctx: Context, of: PreviewOf): Promise<ComposedPreview> {
  const { message, sample } = of;
  const values = await sampleValues(ctx, of, of.subscriberId);
  const at = await linkAddressFor(ctx.db, { customerId: sample.customerId, fromEmail: of.fromEmail });
  const { links, broken } = watchedLinks(sampleLinks(ctx.installation, sample, at));
  const recipient = {
    ...values,
    data: of.data,
    messageId: `<${randomBytes(12).toString('hex')}@preview.invalid>`,
    links,
  };
  const { subject, html = null, plain } = await message.texts(recipient);
  const { content } = await message.fill(recipient);
  return {
    ...{ subject, html, plain, links: message.links },
    warnings: [...message.warnings, ...[...broken].map(brokenLinkWarning)],
    headers: headersOf(content),
    sizeBytes: content.length,
  };
}

/** Links that collect addresses which are invalid with this reader's values, for example with a merge tag as the host. */
function watchedLinks(links: RecipientLinks): { links: RecipientLinks; broken: ReadonlySet<string> } {
  const broken = new Set<string>();
  const click = (no: number, url: string): string => {
    if (httpAddress(url) === '') broken.add(url);
    return links.click(no, url);
  };
  return { links: { ...links, click }, broken };
}

function headersOf(content: Buffer): { name: string; value: string }[] {
  const head = content.subarray(0, content.indexOf('\r\n\r\n')).toString();
  return head
    .replace(/\r\n(?=[ \t])/g, '')
    .split('\r\n')
    .map((line) => ({ name: line.slice(0, line.indexOf(':')), value: line.slice(line.indexOf(':') + 1).trim() }));
}
