/**
 * A campaign's message from its row, its list, its customer's plan and its files: in any state, compiled for sending, previews
 * and the web view.
 */
import type { Queryable } from '../../../db/database.ts';
import type { Context } from '../../context.ts';
import { allowanceOf } from '../../billing/plans/allowance.ts';
import { compileMessage } from '../../content/compile-message.ts';
import { SUBJECT_LENGTH_MAX, type CompiledMessage, type MessageFooter } from '../../content/message.ts';
import type { CampaignKey } from '../../statistics/campaign-key.ts';
import { filesOfMessage, type FilesWanted } from './campaign-files.ts';
import { messageSourceOf, readSource, type SourceRow } from './campaign-source-read-model.ts';
import { pluginTagsIn } from './plugin-tags.ts';
import { composedByPlugins, withPlugins, type PluginComposed } from './composed-by-plugins.ts';

export interface CompileOptions {
  /** `none`: for checks of the texts and for pages; `whole`: the message as it is sent, which fails when a file is missing. */
  readonly files: FilesWanted;
  /** The address of pictures on pages; absent: relative to the page. */
  readonly baseUrl?: string;
  /** Stands before the subject, whatever plugins make of that. */
  readonly mark?: string;
}

/** Composing needs the plugins. */
export type MessageContext = Pick<Context, 'db' | 'hooks'>;

/** The message of a campaign in any state, compiled. Throws ValidationError. */
export async function compileCampaign(
  ctx: MessageContext,
  key: CampaignKey,
  options: CompileOptions = { files: 'none' },
): Promise<CompiledMessage | undefined> {
  const row = await readSource(ctx.db, key);
  return row && compileSource(ctx, { key, row, ...options });
}

/** The same from a row that was read before. */
export async function compileSource(
  ctx: MessageContext,
  options: CompileOptions & { key: CampaignKey; row: SourceRow },
): Promise<CompiledMessage> {
  const { source, changedBy } = await messageSource(ctx, options);
  return compileMessage(source).catch((error: unknown) => {
    throw withPlugins(error, changedBy);
  });
}

/** All sources of a row's message, with the texts that plugins make of it. */
export async function messageSource(
  { db, hooks }: MessageContext,
  { key, row, files: wanted, baseUrl = '', mark = '' }: CompileOptions & { key: CampaignKey; row: SourceRow },
): Promise<PluginComposed> {
  const { source, changedBy } = composedByPlugins(hooks, messageSourceOf(row));
  const html = row.embed_images ? (source.html ?? '') : '';
  const files = await filesOfMessage(db, key, { html, wanted, baseUrl });
  const subject = `${mark}${source.subject}`.slice(0, SUBJECT_LENGTH_MAX);
  const whole = { ...source, subject, files, footer: await footerOf(db, key.customerId) };
  return { source: { ...whole, pluginTags: pluginTagsIn(hooks, whole) }, changedBy };
}

/** The footer of the customer's plan: for all its mails, or only while the plan is free. */
async function footerOf(db: Queryable, customerId: bigint): Promise<MessageFooter | null> {
  const { options, isTrial } = await allowanceOf(db, customerId);
  if (options.email_footer_enabled === 'no') return null;
  if (options.email_footer_trial_period_only === 'yes' && !isTrial) return null;
  return { html: options.html_footer, plain: options.plain_text_footer };
}
