/** Checks a call of sendTransactional as a whole: all faults are found together, and nothing is written. */
import { assert, ValidationError } from '../../../lib/errors.ts';
import { InputFaults } from '../../../lib/input-faults.ts';
import { emailKey } from '../../../lib/text.ts';
import { requireScope } from '../../accounts/require-scope.ts';
import type { MailList } from '../../audience/list-fields.ts';
import { MAIL_DATA_BYTES_MAX, mailData } from '../../content/mail-data.ts';
import type { Template } from '../../content/templates/template-fields.ts';
import { viewerOf, type Context } from '../../context.ts';
import type { NewMessageFile } from '../../messages/transactional-mail-store.ts';
import type { SourceRow } from '../campaigns/campaign-source-read-model.ts';
import { mailFiles } from './mail-files.ts';
import type { MailReads } from './mail-reads.ts';
import { compiledMail, NONE, type MailHeads } from './mail-source.ts';
import {
  sendTransactionalInput,
  STORED_BYTES_MAX,
  type MailContent,
  type MailInput,
  type SendTransactionalInput,
} from './transactional.ts';

export interface CheckedMail {
  readonly input: MailInput;
  readonly template: Template | undefined;
  readonly list: MailList | undefined;
  readonly files: readonly NewMessageFile[];
  readonly content: Omit<MailContent, 'data'>;
}

/**
 * The mail of the call. Throws ValidationError, NotFoundError and ForeignResourceError (`TEMPLATE_NOT_FOUND`, `LIST_NOT_FOUND`,
 * `FILE_NOT_FOUND`), ForbiddenError.
 */
export async function checkMail(ctx: Context, given: SendTransactionalInput, reads: MailReads): Promise<CheckedMail> {
  const faults = new InputFaults();
  const input = faults.read(sendTransactionalInput, given);
  if (!input) {
    faults.check({ areMore: true });
    throw new Error('Assertion failed: an input without faults was not read');
  }
  faults.add(togetherFaults(input));
  faults.add(mergedDataFaults(input));
  if (input.upsertSubscriber) requireScope(ctx, 'upsertSubscriber', 'subscribers:write');
  const { templateUid, listUid } = input;
  const template = templateUid ? await faults.gather(() => reads.template(templateUid), 'templateUid') : undefined;
  const list = listUid ? await faults.gather(() => reads.list(listUid), 'listUid') : undefined;
  if (template && template.kind !== 'transactional' && !listUid)
    faults.add({
      listUid: [`The template is of the kind ${template.kind}: name the list from which its reader can unsubscribe.`],
    });
  const files = await faults.gather(() => mailFiles(ctx, input));
  const sender = list && (await reads.heads.list(list.id));
  const content = contentOf(input, sender, (files?.length ?? 0) > 0);
  if (content.from.email !== '') faults.add(fromEmailFaults(await reads.senderFault(content.from.email)));
  faults.check({ areMore: ctx.checksOnly });
  assert(files, 'files without faults were read');
  const mail = { input, template, list, files, content };
  refuseTooLarge(mail);
  await compile(ctx, mail, reads.heads);
  return mail;
}

/** What the fields say only together. */
function togetherFaults(input: MailInput): Record<string, string[]> {
  const faults: Record<string, string[]> = {};
  const { templateUid, subject, preheader, html, plain, fromEmail, listUid } = input;
  const hasTexts = Boolean(subject || preheader || html || plain);
  if (templateUid && hasTexts) faults['templateUid'] = ['Give either a template, or subject, html and plain text.'];
  if (!templateUid && !subject) faults['subject'] = ['The subject field is required without a template.'];
  if (!templateUid && !html && !plain) faults['html'] = ['Without a template, html or plain text is required.'];
  if (!fromEmail && !listUid) faults['fromEmail'] = ['The from email field is required without a list.'];
  if (input.upsertSubscriber && !listUid) faults['listUid'] = ['Name the list to which the recipients are added.'];
  const keys = input.to.map(({ email }) => emailKey(email));
  if (new Set(keys).size < keys.length) faults['to'] = ['An address may be there only once.'];
  return faults;
}

/** The data of the call and that of a recipient are stored as one object. */
function mergedDataFaults({ to, data }: MailInput): Record<string, string[]> {
  const tooLarge = to.filter((one) => !mailData.safeParse({ ...data, ...one.data }).success);
  const [first] = tooLarge;
  if (!first) return {};
  return {
    to: [
      `The data of ${first.email}, with that of the call, may not be greater than ${MAIL_DATA_BYTES_MAX / 1024} KB.`,
    ],
  };
}

function contentOf(input: MailInput, list: SourceRow | undefined, hasFiles: boolean): CheckedMail['content'] {
  const { templateUid, subject = '', preheader = '', html = '', plain = '', replyTo } = input;
  // The name of a list belongs to its address.
  const name = input.fromName || (input.fromEmail ? '' : (list?.from_name ?? ''));
  return {
    texts: templateUid ? null : { subject, preheader, html, plain },
    from: { name, email: input.fromEmail || (list?.from_email ?? '') },
    replyTo: replyTo ? replyTo : null,
    headers: input.headers ?? [],
    trackOpens: input.trackOpens ?? false,
    trackClicks: input.trackClicks ?? false,
    hasFiles,
  };
}

function fromEmailFaults(fault: string | undefined): Record<string, string[]> {
  return fault === undefined ? {} : { fromEmail: [fault] };
}

function refuseTooLarge({ input: { to }, content: { texts }, files }: CheckedMail): void {
  const ofTexts = Buffer.byteLength((texts?.html ?? '') + (texts?.plain ?? ''));
  const ofFiles = files.reduce((sum, { bytes }) => sum + (bytes?.length ?? 0), 0);
  if ((ofTexts + ofFiles) * to.length <= STORED_BYTES_MAX) return;
  throw new ValidationError({
    to: [
      `For so many recipients the texts and files have more than ${STORED_BYTES_MAX / 1_048_576} MB: ` +
        'send to fewer at a time, save the texts as a template, or upload the files and give their uids.',
    ],
  });
}

/** So that a fault of the texts is found now. Throws ValidationError. */
async function compile(ctx: Context, { template, list, content }: CheckedMail, heads: MailHeads): Promise<void> {
  const kind = template?.kind ?? 'transactional';
  const source = {
    ...{ customerId: viewerOf(ctx).customerId, templateId: template?.id ?? NONE, kind, content },
    listId: kind === 'transactional' ? NONE : (list?.id ?? NONE),
  };
  await compiledMail(ctx, source, heads);
}
