/**
 * Compiles a campaign's message once; filling it for a recipient is then a matter of writing values between bytes
 * that are encoded already: no MIME tree, no encoding of what is the same for all.
 */
import type { Clock } from '../../lib/clock.ts';
import { systemClock } from '../../lib/clock.ts';
import { ValidationError } from '../../lib/errors.ts';
import { Faults } from '../../lib/faults.ts';
import { checkMessage, type MessageAddresses } from './check-message.ts';
import { compileBody, staticBytesOf } from './compile-body.ts';
import { placeImages } from './compile-files.ts';
import { compileHeaders } from './compile-headers.ts';
import { compileHtml } from './compile-html.ts';
import { compilePlain } from './compile-plain.ts';
import { compileText, runLiquid, type TextCompiler } from './compile-text.ts';
import { CopyLayout } from './copy-layout.ts';
import { fillText, type FillScope, type Segment } from './fill-scope.ts';
import { hasUnsubscribeLink } from './footer.ts';
import { LinkBook } from './link-book.ts';
import { bareAddress } from './mail-address.ts';
import { MessageBytes } from './message-bytes.ts';
import { tagValues, type TagValues } from './merge-tags.ts';
import type { CompiledMessage, FilledMessage, MessageRecipient, MessageSource, MessageTexts } from './message.ts';
import { withHtmlFooter } from './plan-footer.ts';
import { joinStatic, writeChunks } from './quoted-printable.ts';
import { renderWebView } from './render-web-view.ts';
import { FAULT_CODE } from './template-fault.ts';
import { markTemplate, type MarkedText, type PartName } from './template-marks.ts';

/**
 * Compiles a message and fills it once for a reader without values, so that a template's faults show now.
 * Throws ValidationError naming the field (`subject`, `from_name`, `from_email`, `reply_to`, `html`, `plain`) and,
 * for Liquid, the line.
 */
export async function compileMessage(source: MessageSource, clock: Clock = systemClock): Promise<CompiledMessage> {
  const addresses = checkMessage(source);
  const tags = tagValues(source);
  const texts: TextCompiler = { tags, liquid: [] };
  const book = new LinkBook(tags);
  const faults = new Faults(FAULT_CODE);
  const marked = await markParts(source, tags, faults);
  const missingImages = placeImages(marked.html, source.files?.images ?? [], addresses.from.domain);
  const showsUnsubscribe = hasUnsubscribeLink(source.html?.trim() ? marked.html : marked.plain);
  const footer = source.kind === 'marketing' ? source.footer : undefined;
  if (footer) marked.html = withHtmlFooter(marked.html, footer, tags);
  const html = await faults.gather(() => compileHtmlPart(source, { marked: marked.html, texts, book }), undefined);
  const plain = await faults.gather(
    () => compilePlain(source, { plain: marked.plain, html: marked.html, texts, book }),
    [],
  );
  const subject = await faults.gather(() => compileText(marked.subject, texts), []);
  const fromName = await faults.gather(() => compileText(marked.fromName, texts), []);
  faults.check();
  const { domain } = addresses.from;
  const body = compileBody({ plain, html, files: source.files, seed: source.campaign.uid, domain });
  const layout = new CopyLayout(book.targets, (shared) => {
    const headers = compileHeaders({ source, ...addresses, subject, fromName }, shared);
    return { headers, chunks: joinStatic([...headers.rest, ...body.chunksFor(shared)]) };
  });
  // Of this message alone: memory for a copy is as large as the last one was.
  const parts = { addresses, layout, tail: body.tail, bytes: new MessageBytes() };
  const filled = <T>(
    recipient: MessageRecipient,
    withPixel: boolean,
    fill: (scope: FillScope) => T,
  ): T | Promise<T> => {
    const scope = { recipient, withPixel, now: clock.now(), liquid: NO_LIQUID };
    return texts.liquid.length === 0 ? fill(scope) : runLiquid(texts.liquid, scope).then(fill);
  };
  const message: CompiledMessage = {
    links: book.links,
    showsUnsubscribe,
    warnings: [
      ...addressWarnings(addresses),
      ...unknownTagWarnings(Object.values(marked)),
      ...missingImageWarnings(missingImages),
      ...[...book.broken].slice(0, BROKEN_LINKS_TOLD_MAX).map(brokenLinkWarning),
    ],
    staticBytes: staticBytesOf(layout.of(TRIAL_RECIPIENT.links).chunks, body.tail),
    fill: (recipient) => filled(recipient, true, (scope) => fillMessage(scope, parts)),
    webView: (recipient) => filled(recipient, false, (scope) => renderWebView({ html, plain }, scope)),
    texts: (recipient) => filled(recipient, false, (scope) => fillTexts({ subject, html, plain }, scope)),
  };
  await message.fill(TRIAL_RECIPIENT);
  return message;
}

async function markParts(source: MessageSource, tags: TagValues, faults: Faults) {
  const mark = (part: PartName, text: string | null, escape: 'header' | 'html' | 'plain'): Promise<MarkedText> => {
    const template = { part, escape, tags };
    return faults.gather(
      () => markTemplate({ ...template, text: text ?? '' }),
      markTemplate({ ...template, text: '' }),
    );
  };
  return {
    subject: await mark('subject', source.subject, 'header'),
    fromName: await mark('from_name', source.from.name, 'header'),
    html: await mark('html', source.html, 'html'),
    plain: await mark('plain', source.plain, 'plain'),
  };
}

async function compileHtmlPart(
  source: MessageSource,
  parts: { marked: MarkedText; texts: TextCompiler; book: LinkBook },
): Promise<Segment[] | undefined> {
  if (parts.marked.text.trim() === '') return undefined;
  const withFooter = source.kind === 'marketing' && !hasUnsubscribeLink(parts.marked);
  // The plain text is made from the same marks later, so the html works on its own copy of what they stand for.
  const marked = { ...parts.marked, pieces: parts.marked.pieces.map((piece) => ({ ...piece })) };
  return compileHtml(marked, { source, texts: parts.texts, book: parts.book, withFooter });
}

const NO_LIQUID: FillScope['liquid'] = new Map();

interface CopyParts {
  readonly addresses: MessageAddresses;
  readonly layout: CopyLayout;
  readonly tail: Buffer | undefined;
  readonly bytes: MessageBytes;
}

function fillMessage(scope: FillScope, { addresses, layout, tail, bytes }: CopyParts): FilledMessage {
  const { email, messageId, links } = scope.recipient;
  const to = bareAddress(email);
  if (to === undefined) throw new ValidationError({ email: ['This is not a plain mail address.'] }, 'BAD_ADDRESS');
  const { headers, chunks } = layout.of(links);
  bytes.clear();
  bytes.addText(headers.write(scope, to.address));
  writeChunks(chunks, scope, bytes);
  return {
    content: bytes.take(tail),
    messageId,
    idempotencyKey: messageId.slice(1, messageId.indexOf('@')),
    envelope: { from: addresses.from.address, to: to.address },
    needsSmtpUtf8: to.needsSmtpUtf8 || addresses.from.needsSmtpUtf8 || addresses.replyTo?.needsSmtpUtf8 === true,
  };
}

function fillTexts(
  { subject, html, plain }: { subject: Segment[]; html: Segment[] | undefined; plain: Segment[] },
  scope: FillScope,
): MessageTexts {
  return {
    subject: fillText(subject, scope),
    html: html && fillText(html, scope),
    plain: fillText(plain, scope),
  };
}

function unknownTagWarnings(parts: readonly MarkedText[]): string[] {
  return parts.flatMap(({ part, unknownTags }) =>
    unknownTags.map(
      (tag) => `"{${tag}}" in ${part} is neither a field of the list nor a merge tag; it is left as it is.`,
    ),
  );
}

/** Letters beyond ASCII in a recipient's address are that recipient's fate; in these, everybody's. */
function addressWarnings({ from, replyTo }: MessageAddresses): string[] {
  const named = { from_email: from, reply_to: replyTo };
  return Object.entries(named).flatMap(([name, address]) =>
    address?.needsSmtpUtf8
      ? [
          `The address of ${name} has letters beyond ASCII before the @: only servers with SMTPUTF8 take such a message, whoever it is for.`,
        ]
      : [],
  );
}

/** More of one kind are found when these are mended. */
const BROKEN_LINKS_TOLD_MAX = 20;

/** A link that leads nowhere, as it was written or as somebody's fields fill it. */
export function brokenLinkWarning(address: string): string {
  return `The address "${address.slice(0, 200)}" is no web address: its link leads nowhere.`;
}

function missingImageWarnings(references: readonly string[]): string[] {
  return references.map((reference) => `"${reference}" in html names no picture of the message.`);
}

/** Who a message is filled for while it is compiled: somebody of whom nothing is known. */
const TRIAL_RECIPIENT: MessageRecipient = {
  email: 'reader@example.com',
  uid: '0000000000000',
  fields: {},
  messageId: '<trial@example.com>',
  links: {
    click: () => 'https://example.com/click',
    open: () => 'https://example.com/open',
    unsubscribe: () => 'https://example.com/unsubscribe',
    webView: () => 'https://example.com/view',
    updateProfile: () => 'https://example.com/profile',
  },
};
