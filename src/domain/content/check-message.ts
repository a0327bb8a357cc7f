/** Refuses what cannot become a message; all faults at once, named by the API's fields. */
import { ValidationError } from '../../lib/errors.ts';
import { bareAddress, type BareAddress } from './mail-address.ts';
import { HTML_BYTES_MAX, PLAIN_LENGTH_MAX, SUBJECT_LENGTH_MAX, type MessageSource } from './message.ts';

export interface MessageAddresses {
  readonly from: BareAddress;
  readonly replyTo: BareAddress | undefined;
}

/** The sender's addresses in header form. Throws ValidationError on the fields of the message. */
export function checkMessage(source: MessageSource): MessageAddresses {
  const fields: Record<string, string[]> = {};
  const from = bareAddress(source.from.email);
  const replyTo = source.replyTo ? bareAddress(source.replyTo) : undefined;
  if (from === undefined) fields.fromEmail = ['The from email must be a plain mail address.'];
  if (source.replyTo && replyTo === undefined) fields.replyTo = ['The reply to must be a plain mail address.'];
  checkLength(fields, 'subject', { text: source.subject, lengthMax: SUBJECT_LENGTH_MAX });
  checkLength(fields, 'html', { text: source.html, lengthMax: HTML_BYTES_MAX });
  checkLength(fields, 'plain', { text: source.plain, lengthMax: PLAIN_LENGTH_MAX });
  if (openTagsMax(source.html ?? '') > OPEN_TAGS_MAX) {
    fields.html = [`The html must not have more than ${OPEN_TAGS_MAX} tags open at once.`];
  }
  if (!source.html?.trim() && !source.plain?.trim()) fields.html = ['A message needs html or plain content.'];
  if (from === undefined || Object.keys(fields).length > 0) throw new ValidationError(fields);
  return { from, replyTo };
}

/** A parser's time grows with the square of the number of open tags. Real layouts have far fewer. */
const OPEN_TAGS_MAX = 5_000;
const TAG = /<(\/?)([a-z][a-z0-9]*)/gi;
const VOID_TAG = /^(area|base|br|col|embed|hr|img|input|link|meta|param|source|track|wbr)$/i;

/**
 * The largest number of tags that are open at the same time. A tag whose end tag may be left out, such as `<p>`, counts as open
 * until the end; so the limit is far above what layouts need.
 */
function openTagsMax(html: string): number {
  let [open, most] = [0, 0];
  for (const [, slash, name = ''] of html.matchAll(TAG)) {
    if (VOID_TAG.test(name)) continue;
    open = slash === '/' ? Math.max(0, open - 1) : open + 1;
    most = Math.max(most, open);
  }
  return most;
}

function checkLength(
  fields: Record<string, string[]>,
  field: string,
  value: { text: string | null; lengthMax: number },
): void {
  if ((value.text?.length ?? 0) > value.lengthMax) {
    fields[field] = [`The ${field} must not be greater than ${value.lengthMax} characters.`];
  }
}
