/** Shows a template as somebody would get it, with the texts of an editor where they are given. Nothing is stored or sent. */
import { z } from 'zod';
import { checksOf } from '../../db/fields.ts';
import { parseInput } from '../../lib/text.ts';
import { requireScope } from '../accounts/require-scope.ts';
import { findOwnedList } from '../audience/find-owned-list.ts';
import { listNotFound } from '../audience/list-errors.ts';
import { compileMessage } from '../content/compile-message.ts';
import { mailData } from '../content/mail-data.ts';
import type { CompiledMessage } from '../content/message.ts';
import {
  compileTemplate,
  messageKind,
  messageTexts,
  SAMPLE_SENDER,
  type TemplateTexts,
} from '../content/templates/compile-template.ts';
import { findOwnedTemplate } from '../content/templates/find-owned-template.ts';
import { templateFields } from '../content/templates/template-fields.ts';
import type { Context } from '../context.ts';
import { compileSource } from '../delivery/campaigns/campaign-message.ts';
import { messageSourceOf, readListSource, type SourceRow } from '../delivery/campaigns/campaign-source-read-model.ts';
import { composePreview, whenFree, type ComposedPreview } from './compose-preview.ts';
import { readerOf } from './preview-campaign.ts';

const { kind, subject, preheader, html, plain } = checksOf(templateFields);
export const previewTemplateInput = z
  .object({ kind, subject, preheader, html, plain, data: mailData.nullish() })
  .partial();

export interface PreviewTemplateInput {
  readonly uid: string;
  /** Its sender, contact and fields are shown; absent: an example's. */
  readonly listUid?: string | null | undefined;
  /** Somebody on that list; absent: sample values. */
  readonly subscriber?: string | null | undefined;
  readonly kind?: string | null | undefined;
  readonly subject?: string | null | undefined;
  readonly preheader?: string | null | undefined;
  readonly html?: string | null | undefined;
  readonly plain?: string | null | undefined;
  /** `data.*` of its Liquid; any value: it is checked here. */
  readonly data?: unknown;
}

/** No list and no campaign: links lead nowhere that counts. */
const NONE = 0n;

/**
 * The template as a message. Throws ValidationError (faulty texts, `data`; `subscriber` without a list or of another one),
 * ForbiddenError (`listUid` needs the scope `lists:read`, `subscriber` the scope `subscribers:read`), `TEMPLATE_NOT_FOUND`,
 * RateLimitedError `TOO_MANY_PREVIEWS`.
 */
export async function previewTemplate(ctx: Context, input: PreviewTemplateInput): Promise<ComposedPreview> {
  if (input.listUid) requireScope(ctx, 'listUid', 'lists:read');
  const { data, ...given } = parseInput(previewTemplateInput, input);
  return whenFree(ctx, async () => {
    const template = await findOwnedTemplate(ctx, input.uid);
    const texts = withGiven(template, given);
    const { customerId } = template;
    const list = input.listUid ? await readList(ctx, input.listUid) : undefined;
    const sample = { customerId, listId: list?.list_id ?? NONE, campaignId: NONE };
    const subscriberId = await readerOf(ctx, sample, input.subscriber);
    const message = list ? await compileFor(ctx, { customerId, list, texts }) : await compileTemplate(texts);
    const fromEmail = list?.from_email ?? SAMPLE_SENDER.email;
    return composePreview(ctx, { message, sample, subscriberId, fromEmail, data: data ?? undefined });
  });
}

function withGiven(
  stored: TemplateTexts & { name: string },
  given: Omit<z.output<typeof previewTemplateInput>, 'data'>,
): TemplateTexts & { name: string } {
  return {
    name: stored.name,
    kind: given.kind ?? stored.kind,
    subject: given.subject ?? stored.subject,
    preheader: given.preheader ?? stored.preheader,
    html: given.html ?? stored.html,
    plain: given.plain ?? stored.plain,
  };
}

async function readList(ctx: Context, uid: string): Promise<SourceRow> {
  const { customerId, id: listId } = await findOwnedList(ctx, uid);
  const row = await readListSource(ctx.db, { customerId, listId });
  if (!row) throw listNotFound();
  return row;
}

/** As it goes to somebody on the list. */
function compileFor(
  ctx: Context,
  { customerId, list, texts }: { customerId: bigint; list: SourceRow; texts: TemplateTexts & { name: string } },
): Promise<CompiledMessage> {
  const { kind: _kind, ...stored } = texts;
  const row = { ...list, ...stored };
  if (messageKind(texts.kind) === 'marketing')
    return compileSource(ctx, {
      key: { customerId, campaignId: NONE },
      row,
      files: 'none',
      baseUrl: ctx.installation.baseUrl,
    });
  return compileMessage({ ...messageSourceOf(row), ...messageTexts(texts), kind: 'transactional' });
}
