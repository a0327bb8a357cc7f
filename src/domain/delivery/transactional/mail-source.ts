/**
 * The message of a transactional mail, compiled once for each version of its template, sender and list, and kept for the next mails of
 * the process.
 */
import { sha256 } from '../../../lib/crypto.ts';
import { compileMessage } from '../../content/compile-message.ts';
import { NO_CONTACT, type CompiledMessage, type MessageSource } from '../../content/message.ts';
import { messageKind, messageTexts } from '../../content/templates/compile-template.ts';
import type { TemplateKind } from '../../content/templates/template.ts';
import type { Context } from '../../context.ts';
import type { Queryable } from '../../../db/database.ts';
import { messageSourceOf, readListSource, type SourceRow } from '../campaigns/campaign-source-read-model.ts';
import { customerUidOf, templateHead, templateTexts, type TemplateHead } from './mail-source-read-model.ts';
import type { MailContent } from './transactional.ts';

/** A busy process has some dozens; of the largest texts some megabytes each. */
const COMPILED_MAX = 200;
const COMPILED_BYTES_MAX = 33_554_432;

/** No template, or no list. */
export const NONE = 0n;

export interface MailSource {
  readonly customerId: bigint;
  /** NONE: the texts are the content's. */
  readonly templateId: bigint;
  /** The list whose unsubscribe link it has; NONE: none. */
  readonly listId: bigint;
  readonly kind: TemplateKind;
  readonly content: Pick<MailContent, 'texts' | 'from' | 'replyTo' | 'trackOpens' | 'trackClicks'>;
}

/** What decides whether a compiled message is still right. */
export interface MailHeads {
  /** Undefined: it is gone. */
  template(id: bigint): Promise<TemplateHead | undefined>;
  list(id: bigint): Promise<SourceRow | undefined>;
}

/** The heads of a customer's templates and lists, read each time. */
export function headsOf(db: Queryable, customerId: bigint): MailHeads {
  return {
    template: (id) => templateHead(db, { customerId, id }),
    list: (listId) => readListSource(db, { customerId, listId }),
  };
}

interface Kept {
  readonly message: Promise<CompiledMessage>;
  bytes: number;
}

const kept = new Map<string, Kept>();
let keptBytes = 0;

/**
 * The compiled message; undefined: its template, its list or its customer is gone. Throws ValidationError on the fields of the texts
 * and of the sender.
 */
export async function compiledMail(
  ctx: Context,
  source: MailSource,
  heads: MailHeads,
): Promise<CompiledMessage | undefined> {
  const { customerId, templateId, content } = source;
  const head = templateId === NONE ? undefined : await heads.template(templateId);
  if (templateId !== NONE && !head) return undefined;
  const list = source.listId === NONE ? undefined : await heads.list(source.listId);
  if (source.listId !== NONE && !list) return undefined;
  // By name: what is stored of a mail has the data of its reader, too, which do not change the compiled message.
  const frame = { ...settingsOf(source), list, customerId, templateId, head };
  const key = sha256(JSON.stringify([frame, content.texts], asText)).toString('base64');
  const known = kept.get(key);
  if (known) {
    kept.delete(key);
    kept.set(key, known);
    return known.message;
  }
  const texts = content.texts ?? (await templateTexts(ctx.db, { customerId, id: templateId }));
  const customerUid = list?.customer_uid ?? (await customerUidOf(ctx.db, customerId));
  if (!texts || customerUid === undefined) return undefined;
  const base = list
    ? messageSourceOf(list)
    : { customerUid, campaign: NOTHING, list: { ...NOTHING, contact: NO_CONTACT }, fieldDefaults: {} };
  return keep(key, { ...base, ...messageTexts({ kind: source.kind, ...texts }), ...settingsOf(source) }, ctx);
}

const NOTHING = { uid: '', name: '' };

function settingsOf({ kind, content: { from, replyTo, trackOpens, trackClicks } }: MailSource) {
  return { kind: messageKind(kind), from, replyTo, trackOpens, trackClicks };
}

function keep(key: string, source: MessageSource, { clock }: Context): Promise<CompiledMessage> {
  const message = compileMessage(source, clock);
  const entry: Kept = { message, bytes: (source.html?.length ?? 0) + (source.plain?.length ?? 0) };
  kept.set(key, entry);
  keptBytes += entry.bytes;
  // A fault is found again: its text may be due to the moment.
  message.catch(() => drop(key, entry));
  for (const [oldest, one] of kept) {
    if (kept.size <= COMPILED_MAX && keptBytes <= COMPILED_BYTES_MAX) break;
    drop(oldest, one);
  }
  return message;
}

function drop(key: string, entry: Kept): void {
  if (kept.get(key) !== entry) return;
  kept.delete(key);
  keptBytes -= entry.bytes;
}

function asText(_name: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value;
}
