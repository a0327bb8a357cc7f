/** Changes the texts of a list's mail, or resets them, and shows how it will look. */
import { z } from 'zod';
import { parseInput } from '../../../lib/text.ts';
import { inTransaction, type Context } from '../../context.ts';
import { listNotFound } from '../list-errors.ts';
import { lockOwnedList, findOwnedList } from '../find-owned-list.ts';
import { compileListMail, requireConfirmLink, SAMPLE_PERSON } from './compile-list-mail.ts';
import { mailOfList, removeListMail, writeListMail } from './list-mail-store.ts';
import { listMailKind, mailTextsInput, type ListMail, type MailTexts } from './list-mail.ts';
import { mailSenderOf, type MailSender } from './mail-sender-read-model.ts';

export interface ListMailRef {
  readonly listUid: string;
  readonly kind: string;
}

export interface ChangeListMailInput extends ListMailRef {
  readonly subject?: string | null | undefined;
  readonly html?: string | null | undefined;
  /** Empty or null: made from the html. */
  readonly plain?: string | null | undefined;
}

export const kindInput = z.object({ kind: listMailKind });

/**
 * Changes the given texts of the mail. It is compiled first, like a campaign. Throws ValidationError on `kind`, `subject`,
 * `html`, `plain` (`TEMPLATE_FAULT`, `CONFIRM_URL_MISSING`), NotFoundError `LIST_NOT_FOUND`, ForeignResourceError.
 */
export async function changeListMail(ctx: Context, input: ChangeListMailInput): Promise<ListMail> {
  return inTransaction(ctx, async (inner) => {
    const list = await lockOwnedList(inner, input.listUid);
    const { kind } = parseInput(kindInput, input);
    const present = await mailOfList(inner.db, list, kind);
    const texts = parseInput(mailTextsInput, mergedTexts(present, input));
    await compileChecked(await senderOf(inner, list), { ...present, ...texts });
    await writeListMail(inner.db, list, { kind, ...texts });
    return mailOfList(inner.db, list, kind);
  });
}

/** Back to the built-in texts. Throws as `changeListMail`. */
export async function resetListMail(ctx: Context, ref: ListMailRef): Promise<ListMail> {
  return inTransaction(ctx, async (inner) => {
    const list = await lockOwnedList(inner, ref.listUid);
    const { kind } = parseInput(kindInput, ref);
    await removeListMail(inner.db, list, kind);
    return mailOfList(inner.db, list, kind);
  });
}

export interface ListMailPreview {
  readonly subject: string;
  readonly html: string;
  readonly plain: string;
  readonly warnings: readonly string[];
}

/** The mail as a person would get it, with the given texts instead of the stored ones. Throws as `changeListMail`. */
export async function previewListMail(ctx: Context, input: ChangeListMailInput): Promise<ListMailPreview> {
  const list = await findOwnedList(ctx, input.listUid);
  const { kind } = parseInput(kindInput, input);
  const present = await mailOfList(ctx.db, list, kind);
  const texts = parseInput(mailTextsInput, mergedTexts(present, input));
  const message = await compileChecked(await senderOf(ctx, list), { ...present, ...texts });
  const { subject, html = '', plain } = await message.texts(SAMPLE_PERSON);
  return { subject, html, plain, warnings: message.warnings };
}

function mergedTexts(present: MailTexts, { subject, html, plain }: ChangeListMailInput): MailTexts {
  // The plain text belongs to its html: new html without a plain text makes a new one.
  const kept = html === undefined || html === null ? present.plain : '';
  return {
    subject: subject ?? present.subject,
    html: html ?? present.html,
    plain: plain === undefined ? kept : (plain ?? ''),
  };
}

async function compileChecked(sender: MailSender, mail: ListMail) {
  const message = await compileListMail(sender, mail.kind, mail);
  if (mail.kind === 'confirmation') await requireConfirmLink(message, mail);
  return message;
}

async function senderOf(ctx: Context, list: Parameters<typeof mailSenderOf>[1]): Promise<MailSender> {
  const sender = await mailSenderOf(ctx.db, list);
  if (!sender) throw listNotFound();
  return sender;
}
