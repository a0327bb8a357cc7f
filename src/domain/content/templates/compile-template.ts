/**
 * A template as a message, as it would be sent: to check it when it is saved, and to show it. It belongs to no list yet, so
 * names in braces that may be fields of one stay as they are; `data.*` and `payload.*` of Liquid come with each mail, and are empty
 * here.
 */
import { compileMessage } from '../compile-message.ts';
import { NO_CONTACT, type CompiledMessage, type MessageSource } from '../message.ts';
import type { Template } from './template-fields.ts';
import type { TemplateKind } from './template.ts';

export interface TemplateTexts {
  readonly kind: TemplateKind;
  readonly subject: string;
  readonly preheader: string;
  readonly html: string;
  readonly plain: string;
}

/** What only mails with a way to unsubscribe have: their headers, the footer, the list's address. */
export function messageKind(kind: TemplateKind): MessageSource['kind'] {
  return kind === 'transactional' ? 'transactional' : 'marketing';
}

/** The texts in a message's form: nothing of it is sent without content. */
export function messageTexts({ subject, preheader, html, plain }: TemplateTexts) {
  return { subject, preheader, html: html === '' ? null : html, plain: plain === '' ? null : plain };
}

/**
 * The template as a message of nobody's list. Throws ValidationError on `subject`, `preheader`, `html` or `plain`, with the line
 * where Liquid has one, as for a campaign.
 */
export function compileTemplate(texts: TemplateTexts & Partial<Pick<Template, 'name'>>): Promise<CompiledMessage> {
  return compileMessage({
    kind: messageKind(texts.kind),
    customerUid: NO_UID,
    campaign: { uid: NO_UID, name: texts.name ?? '' },
    list: { uid: NO_UID, name: SAMPLE_LIST, contact: NO_CONTACT },
    from: SAMPLE_SENDER,
    replyTo: null,
    ...messageTexts(texts),
    trackOpens: false,
    trackClicks: true,
    fieldDefaults: {},
  });
}

const NO_UID = '0000000000000';
const SAMPLE_LIST = 'Example list';
/** Of a reserved domain: it is shown, never sent from. */
export const SAMPLE_SENDER = { name: 'Example sender', email: 'sender@example.com' } as const;
