/** What prevents sending a campaign: codes with parameters, as a paused one stores them, and their texts by field. */
import type { CodedReason, NoParams, ReasonTexts } from '../../lib/coded-reason.ts';
import type { ContactPart } from '../audience/contact-read-model.ts';
import { fileFaultTexts, type FileFaultParams } from '../delivery/campaigns/campaign-files.ts';
import { senderFaultTexts, type SenderFaultParams } from '../sending/addresses/usable-sender.ts';

interface SendFaultParams extends FileFaultParams, SenderFaultParams {
  no_subject: NoParams;
  no_from_email: NoParams;
  no_from_name: NoParams;
  no_content: NoParams;
  /** The list's contact lacks what recipients must be told. */
  contact_incomplete: { readonly parts: readonly ContactPart[] };
  /** The plan demands one in the author's own part. */
  no_unsubscribe_link: { readonly field: 'html' | 'plain' };
  /** Nobody would get it (decision D56). */
  no_audience: { readonly of: 'list' | 'segment' };
}
export type SendFault = CodedReason<SendFaultParams>;
export type AudienceFault = CodedReason<SendFaultParams, 'no_audience'>;

const TEXTS: ReasonTexts<SendFaultParams> = {
  ...fileFaultTexts,
  ...senderFaultTexts,
  no_subject: () => 'The subject field is required.',
  no_from_email: () => 'The from email field is required.',
  no_from_name: () => 'The from name field is required.',
  no_content: () => 'The html field is required when plain is empty.',
  contact_incomplete: ({ parts }) =>
    `The contact of the list lacks what every mailing must show: ${parts.join(', ')}. Add it to the list.`,
  no_unsubscribe_link: ({ field }) => `The plan asks for an unsubscribe link in the ${field}: {UNSUBSCRIBE_URL}.`,
  no_audience: ({ of }) =>
    `Nobody would get this campaign: the ${of} has no person who is subscribed and not suppressed. Add people or choose another audience.`,
};

export function sendFaultText<Code extends keyof SendFaultParams>(fault: CodedReason<SendFaultParams, Code>): string {
  return Object.hasOwn(TEXTS, fault.code) ? TEXTS[fault.code](fault.params) : fault.code;
}

/** The texts by field, as errors carry them. */
export function fieldsOf(faults: readonly SendFault[]): Record<string, string[]> {
  const fields: Record<string, string[]> = {};
  for (const fault of faults) (fields[fieldOf(fault)] ??= []).push(sendFaultText(fault));
  return fields;
}

function fieldOf(fault: SendFault): string {
  switch (fault.code) {
    case 'no_subject':
      return 'subject';
    case 'no_from_name':
      return 'fromName';
    case 'no_content':
      return 'html';
    case 'contact_incomplete':
      return 'contact';
    case 'no_unsubscribe_link':
      return fault.params.field;
    case 'no_audience':
      return 'audience';
    case 'attachment_missing':
    case 'too_many_files':
    case 'message_too_large':
      return 'attachments';
    default:
      return 'fromEmail';
  }
}
