/** A message and a reader to start from; tests change what they are about. */
import { parseEmail } from './parse-email.ts';
import { compileMessage } from '../../../src/domain/content/compile-message.ts';
import { isHeaderTooLong } from '../../../src/domain/content/template-fault.ts';
import type {
  CompiledMessage,
  FieldValue,
  RecipientLinks,
  MessageRecipient,
  MessageSource,
} from '../../../src/domain/content/message.ts';

export const NOW = new Date('2026-03-04T05:06:07Z');

export const links: RecipientLinks = {
  click: (no, url) => `https://t.example.net/c/${no}?u=${encodeURIComponent(url)}`,
  open: () => 'https://t.example.net/o/abc',
  unsubscribe: () => 'https://t.example.net/u/abc',
  webView: () => 'https://t.example.net/v/abc',
  updateProfile: () => 'https://t.example.net/p/abc',
};

export function messageSource(changes: Partial<MessageSource> = {}): MessageSource {
  return {
    kind: 'marketing',
    customerUid: 'c000000000001',
    campaign: { uid: 'a000000000001', name: 'Spring' },
    list: {
      uid: 'b000000000001',
      name: 'Friends & Family',
      contact: {
        company: 'Acme <GmbH>',
        address1: 'Hauptstraße 1',
        address2: '',
        city: 'Berlin',
        state: '',
        zip: '10115',
        country: 'Germany',
        phone: '+49 30 1',
        email: 'office@example.org',
        url: 'https://example.org',
      },
    },
    from: { name: 'Acme News', email: 'news@example.org' },
    replyTo: null,
    subject: 'Hello {FIRST_NAME}',
    html: '<html><body><p>Hi {FIRST_NAME}</p><a href="{UNSUBSCRIBE_URL}">stop</a></body></html>',
    plain: null,
    trackOpens: false,
    trackClicks: true,
    fieldDefaults: { FIRST_NAME: 'friend', LAST_NAME: '', CITY: '' },
    ...changes,
  };
}

export function recipient(
  fields: Record<string, FieldValue> = {},
  changes: Partial<MessageRecipient> = {},
): MessageRecipient {
  return {
    email: 'ada@example.com',
    uid: 'd000000000001',
    fields,
    messageId: '<a.d.mac@example.org>',
    links,
    ...changes,
  };
}

/** Undefined: these values make a header too long. */
export async function filledOrTooLong(message: CompiledMessage, fields: Record<string, FieldValue>) {
  try {
    return await message.fill(recipient(fields));
  } catch (error) {
    if (isHeaderTooLong(error)) return undefined;
    throw error;
  }
}

/** Compiles, fills and reads back one message. */
export async function roundTrip(source: Partial<MessageSource>, fields: Record<string, FieldValue> = {}) {
  const message = await compileMessage(messageSource(source), { now: () => NOW });
  const filled = await message.fill(recipient(fields));
  return { message, filled, raw: filled.content.toString(), email: await parseEmail(filled.content) };
}
