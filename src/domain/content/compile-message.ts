/**
 * Compiles a campaign's message once; filling it for a recipient then only writes values between encoded bytes: no MIME tree, and
 * nothing is encoded twice that is the same for all.
 */
import type { Clock } from '../../lib/clock.ts';
import { systemClock } from '../../lib/clock.ts';
import { ValidationError } from '../../lib/errors.ts';
import { Faults } from '../../lib/faults.ts';
import { escapeHtml } from '../../lib/html.ts';
import type { MessageAddresses } from './check-message.ts';
import { compileBody, staticBytesOf } from './compile-body.ts';
import { compileHeaders } from './compile-headers.ts';
import { compileSegments, compileText, runLiquid, type TextCompiler } from './compile-text.ts';
import { CopyLayout } from './copy-layout.ts';
import { addressSlot, fillText, mailOrPage, type FillScope, type Segment } from './fill-scope.ts';
import { bareAddress } from './mail-address.ts';
import { MessageBytes } from './message-bytes.ts';
import { tagValues } from './merge-tags.ts';
import type {
  CompiledMessage,
  FilledMessage,
  MessageRecipient,
  MessageSource,
  MessageTexts,
  PartName,
} from './message.ts';
import type { MessagePlan } from './message-plan.ts';
import { planInThread } from './plan-thread.ts';
import { joinStatic, writeChunks } from './quoted-printable.ts';
import { hiddenPreheader } from './preheader.ts';
import { SignedLink } from './signed-link.ts';
import { FAULT_CODE } from './template-fault.ts';

/**
 * Compiles a message and fills it once for a recipient without values, so that faults of templates show now. Work that grows with
 * the length of its texts is done in a thread that can be stopped. Throws ValidationError naming the field (`subject`, `preheader`,
 * `fromName`, `fromEmail`, `replyTo`, `html`, `plain`) and, for Liquid, the line; RateLimitedError `TOO_MANY_MESSAGES`.
 */
export async function compileMessage(source: MessageSource, clock: Clock = systemClock): Promise<CompiledMessage> {
  const plan = await planInThread(source);
  const { addresses } = plan;
  const { liquid, subject, fromName, html, plain, targets } = await compileTexts(source, plan);
  const { domain } = addresses.from;
  const body = compileBody({ plain, html, files: source.files, seed: source.campaign.uid, domain });
  const layout = new CopyLayout(targets, (shared) => {
    const headers = compileHeaders({ source, ...addresses, subject, fromName }, shared);
    return { headers, chunks: joinStatic([...headers.rest, ...body.chunksFor(shared)]) };
  });
  // For this message alone: a new copy gets as much memory as the last one needed.
  const parts = { addresses, layout, tail: body.tail, bytes: new MessageBytes() };
  const filled = <T>(
    recipient: MessageRecipient,
    withPixel: boolean,
    fill: (scope: FillScope) => T,
  ): T | Promise<T> => {
    const scope = { recipient, withPixel, now: clock.now(), liquid: NO_LIQUID };
    return liquid.length === 0 ? fill(scope) : runLiquid(liquid, scope).then(fill);
  };
  const message: CompiledMessage = {
    links: plan.links,
    showsUnsubscribe: plan.showsUnsubscribe,
    warnings: plan.warnings,
    pluginTags: {
      names: Object.keys(source.pluginTags ?? {}),
      ...{ campaignUid: source.campaign.uid, listUid: source.list.uid, customerUid: source.customerUid },
    },
    staticBytes: staticBytesOf(layout.of(TRIAL_RECIPIENT.links).chunks, body.tail),
    fill: (recipient) => filled(recipient, true, (scope) => fillMessage(scope, parts)),
    texts: (recipient) => filled(recipient, false, (scope) => fillTexts({ subject, html, plain }, scope)),
  };
  await message.fill(TRIAL_RECIPIENT);
  return message;
}

/** The texts of a plan, ready to be filled. Throws one ValidationError for all templates that have a fault. */
async function compileTexts(source: MessageSource, plan: MessagePlan) {
  const tags = tagValues(source);
  const links = plan.linkAddresses.map(
    (address, no) => address && new SignedLink(no, compileSegments(address, { tags, links: [] })),
  );
  const liquid: TextCompiler['liquid'] = [];
  const faults = new Faults(FAULT_CODE);
  for (const { fields, code, message } of plan.faults) {
    await faults.gather(() => {
      throw new ValidationError(fields, code, message);
    }, undefined);
  }
  const part = async (name: PartName, inserts: Readonly<Record<string, Segment>> = {}) => {
    const planned = plan.parts[name];
    return planned && faults.gather(() => compileText(planned, { tags, links, liquid, inserts }), []);
  };
  const preheader = hiddenPreheader((await part('preheader')) ?? []);
  const compiled = {
    html: await part('html', { pixel: PIXEL, preheader }),
    plain: (await part('plain')) ?? [],
    subject: (await part('subject')) ?? [],
    fromName: (await part('fromName')) ?? [],
  };
  faults.check();
  return { ...compiled, liquid, targets: links.flatMap((link) => link?.target ?? []) };
}

const PIXEL = mailOrPage(
  [
    '<img src="',
    addressSlot({ kind: 'open' }, escapeHtml, ({ recipient }) => recipient.links.open()),
    '" width="1" height="1" alt="" border="0">',
  ],
  '',
);

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

/** The recipient for a trial while the message is compiled: one without values. */
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
