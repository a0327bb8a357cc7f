/** The compiled message of a flow's mail with its sender's identity: once for each version of template, list and plan in a process. */
import { ValidationError } from '../../../lib/errors.ts';
import { compileMessage } from '../../content/compile-message.ts';
import type { CompiledMessage, MessageSource } from '../../content/message.ts';
import { messageKind } from '../../content/templates/compile-template.ts';
import { findTemplate } from '../../content/templates/template-store.ts';
import type { Context } from '../../context.ts';
import type { DeliveryReason } from '../../sending/delivery-reason.ts';
import { senderFault } from '../../sending/addresses/usable-sender.ts';
import { identityFor, type SendingIdentity } from '../../sending/identity.ts';
import { withPlugins } from '../campaigns/composed-by-plugins.ts';
import { messageSource, type MessageContext } from '../campaigns/campaign-message.ts';
import { readListSource } from '../campaigns/campaign-source-read-model.ts';
import { readFlowHead, type FlowHead, type FlowSource } from './flow-source-read-model.ts';

export interface FlowEdition {
  readonly message: CompiledMessage;
  readonly identity: SendingIdentity;
  /** The bare address in From. */
  readonly fromEmail: string;
}

export interface FlowText extends FlowSource {
  /** Null: the template's. */
  readonly subject: string | null;
}

export type EditionContext = MessageContext & Pick<Context, 'installation'>;

/** Flows of many customers send at once; most messages have some 100 KB compiled. */
const KEPT_MAX = 50;
const KEPT_BYTES_MAX = 33_554_432;

interface Kept {
  readonly version: string;
  readonly edition: Promise<FlowEdition>;
  bytes: number;
}

/** The one that was used longest ago comes first. */
const kept = new Map<string, Kept>();

/** The present edition, or why there is none. Throws ValidationError as compiling does, and Error for an unusable sender. */
export async function flowEdition(
  ctx: EditionContext,
  text: FlowText,
): Promise<FlowEdition | { readonly skip: DeliveryReason }> {
  const head = await readFlowHead(ctx.db, text);
  if (!head) return { skip: 'source_deleted' };
  if (head.kind === null) return { skip: 'template_deleted' };
  const { customerId, automationId, listId, templateUid, subject } = text;
  const name = JSON.stringify([String(customerId), String(automationId), String(listId), templateUid, subject]);
  const version = `${head.version}|${ctx.hooks.changes}`;
  const known = kept.get(name);
  kept.delete(name);
  const one = known?.version === version ? known : begin(ctx, text, { head, version, name });
  kept.set(name, one);
  dropOldest();
  return one.edition;
}

function begin(
  ctx: EditionContext,
  text: FlowText,
  { head, version, name }: { readonly head: FlowHead; readonly version: string; readonly name: string },
): Kept {
  const one: Kept = { version, edition: compileFlowMail(ctx, text, head), bytes: 0 };
  one.edition.then(
    ({ message }) => void (one.bytes = message.staticBytes),
    // A fault of the texts stays until they change; others may pass.
    (error: unknown) => {
      if (!(error instanceof ValidationError) && kept.get(name) === one) kept.delete(name);
    },
  );
  return one;
}

function dropOldest(): void {
  let bytes = [...kept.values()].reduce((sum, one) => sum + one.bytes, 0);
  for (const [name, one] of kept) {
    if (kept.size <= 1 || (kept.size <= KEPT_MAX && bytes <= KEPT_BYTES_MAX)) return;
    bytes -= one.bytes;
    kept.delete(name);
  }
}

/** Throws ValidationError as compiling does, and Error for a sender that the customer may not use. */
export async function compileFlowMail(
  ctx: EditionContext,
  { customerId, listId, templateUid, subject }: FlowText,
  { uid, name }: Pick<FlowHead, 'uid' | 'name'>,
): Promise<FlowEdition> {
  const list = await readListSource(ctx.db, { customerId, listId });
  const template = await findTemplate(ctx.db, { customerId, uid: templateUid });
  if (!list || !template) throw new Error('The list or the template was deleted just now.');
  const fault = await senderFault(ctx.db, ctx.installation, { customerId, email: list.from_email });
  if (fault !== undefined) throw new Error(fault);
  const { preheader, html, plain } = template;
  const row = { ...list, uid, name, subject: subject ?? template.subject, preheader, html, plain };
  const key = { customerId, campaignId: NO_CAMPAIGN };
  const { source, changedBy } = await messageSource(ctx, { key, row, files: 'none' });
  const message = await compileMessage(ofKind(source, messageKind(template.kind))).catch((error: unknown) => {
    throw withPlugins(error, changedBy);
  });
  const identity = await identityFor(ctx.db, {
    ...{ customerId, fromEmail: list.from_email, signDkim: true },
    secret: ctx.installation.secret,
  });
  return { message, identity, fromEmail: list.from_email };
}

/** It has no files: a template has none. */
const NO_CAMPAIGN = 0n;

/** A transactional mail has no footer of marketing; its reader is on the list nevertheless. */
function ofKind(source: MessageSource, kind: MessageSource['kind']): MessageSource {
  return kind === 'marketing' ? source : { ...source, kind, isToMember: true, footer: null };
}
