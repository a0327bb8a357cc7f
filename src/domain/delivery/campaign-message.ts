/**
 * A campaign's message from its row, its list, its customer's plan and its files: in any state, compiled for sending, previews
 * and the web view.
 */
import type { Queryable } from '../../db/database.ts';
import { allowanceOf } from '../billing/allowance.ts';
import { compileMessage } from '../content/compile-message.ts';
import type { CompiledMessage, MessageFooter, MessageSource } from '../content/message.ts';
import type { CampaignKey } from '../statistics/campaign-key.ts';
import { filesOfMessage, type FilesWanted } from './campaign-files.ts';
import { messageSourceOf, readSource, type SourceRow } from './campaign-source-read-model.ts';

export interface CompileOptions {
  /** `none`: for checks of the texts and for pages; `whole`: the message as it is sent, which fails when a file is missing. */
  readonly files: FilesWanted;
  /** The address of pictures on pages; absent: relative to the page. */
  readonly baseUrl?: string;
}

/** The message of a campaign in any state, compiled. Throws ValidationError. */
export async function compileCampaign(
  db: Queryable,
  key: CampaignKey,
  options: CompileOptions = { files: 'none' },
): Promise<CompiledMessage | undefined> {
  const row = await readSource(db, key);
  return row && compileSource(db, { key, row, ...options });
}

/** The same from a row that was read before. */
export async function compileSource(
  db: Queryable,
  options: CompileOptions & { key: CampaignKey; row: SourceRow },
): Promise<CompiledMessage> {
  return compileMessage(await messageSource(db, options));
}

/** All sources of a row's message. */
export async function messageSource(
  db: Queryable,
  { key, row, files: wanted, baseUrl = '' }: CompileOptions & { key: CampaignKey; row: SourceRow },
): Promise<MessageSource> {
  const html = row.embed_images ? row.html : '';
  const files = await filesOfMessage(db, key, { html, wanted, baseUrl });
  return { ...messageSourceOf(row), files, footer: await footerOf(db, key.customerId) };
}

/** The footer of the customer's plan: for all its mails, or only while the plan is free. */
async function footerOf(db: Queryable, customerId: bigint): Promise<MessageFooter | null> {
  const { options, isTrial } = await allowanceOf(db, customerId);
  if (options.email_footer_enabled === 'no') return null;
  if (options.email_footer_trial_period_only === 'yes' && !isTrial) return null;
  return { html: options.html_footer, plain: options.plain_text_footer };
}
