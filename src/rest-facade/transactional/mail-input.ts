/** Reads the parameters of a transactional mail. */
import type { Input } from '../input.ts';
import type { ParameterValue } from '../request-parameters.ts';
import { textsIn } from '../text-list.ts';

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;
const TO =
  'The value of “to” must be an address, several with commas, or a list of addresses or of objects with email and data.';
const ATTACHMENTS = 'The attachments must be a list of objects with name and content, which is base64.';

/** The input of the mutation. */
export function mailInput(input: Input) {
  return {
    to: recipientsIn(input),
    templateUid: input.text('template_uid'),
    ...{ subject: input.text('subject'), preheader: input.nullableText('preheader') },
    ...{ html: input.text('html'), plain: input.text('plain') },
    ...{ fromEmail: input.text('from_email'), fromName: input.text('from_name'), replyTo: input.text('reply_to') },
    listUid: input.text('list_uid'),
    ...{ data: input.plainObject('data'), headers: input.plainObject('headers') },
    attachments: attachmentsIn(input),
    ...{ fileUids: textsIn(input, 'file_uids'), tags: textsIn(input, 'tags') },
    externalId: input.text('external_id'),
    sendAt: input.time('send_at'),
    ...{ trackOpens: input.flag('track_opens'), trackClicks: input.flag('track_clicks') },
    upsertSubscriber: input.flag('upsert_subscriber'),
  };
}

interface Recipient {
  readonly email: string;
  readonly data?: Record<string, unknown> | undefined;
}

function recipientsIn(input: Input): Recipient[] {
  const given = input.raw('to');
  if (given === undefined || given === null) return [];
  if (typeof given !== 'object') return addresses(String(given));
  const several = isList(given) ? given : [given];
  const found = several.flatMap((one) => recipientOf(one) ?? []);
  if (found.length < several.length) input.refuse('to', TO);
  return found;
}

function addresses(text: string): Recipient[] {
  return text
    .split(',')
    .map((email) => ({ email: email.trim() }))
    .filter(({ email }) => email !== '');
}

function recipientOf(value: ParameterValue): Recipient | undefined {
  if (typeof value === 'string') return { email: value };
  if (typeof value !== 'object' || value === null || isList(value)) return undefined;
  const { email, data = null } = value;
  if (typeof email !== 'string') return undefined;
  if (data === null) return { email };
  return typeof data === 'object' && !isList(data) ? { email, data: { ...data } } : undefined;
}

function attachmentsIn(input: Input) {
  const given = input.raw('attachments');
  if (given === undefined || given === null || given === '') return undefined;
  const several = typeof given === 'object' && isList(given) ? given : [given];
  const found = several.flatMap((one) => attachmentOf(one) ?? []);
  if (found.length < several.length) input.refuse('attachments', ATTACHMENTS);
  return found;
}

function attachmentOf(value: ParameterValue): { name: string; content: Uint8Array } | undefined {
  if (typeof value !== 'object' || value === null || isList(value)) return undefined;
  const { name, content } = value;
  if (typeof name !== 'string' || typeof content !== 'string' || !BASE64.test(content)) return undefined;
  return { name, content: Buffer.from(content, 'base64') };
}

function isList(value: object): value is readonly ParameterValue[] {
  return Array.isArray(value);
}
