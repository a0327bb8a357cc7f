/** A composed message in parts, for vendors that take fields and no MIME. */
import PostalMime, { addressParser, type Address, type Attachment } from 'postal-mime';
import { decodedHeader, headerOf, readSimpleMessage, type SimpleMessage } from './simple-message.ts';
import type { OutgoingMessage } from './sending-driver.ts';

export interface MessageAddress {
  readonly name: string;
  readonly email: string;
}

export interface MessageFile {
  readonly name: string;
  /** `image/png`. */
  readonly type: string;
  readonly content: Uint8Array;
  /** Without angle brackets; null: an attachment that no part of the message refers to. */
  readonly contentId: string | null;
}

export interface MessageParts {
  readonly from: MessageAddress;
  /** As its header names the recipient; the address that counts is that of the envelope. */
  readonly to: MessageAddress;
  readonly replyTo: MessageAddress | null;
  readonly subject: string;
  /** Null: there is none. */
  readonly html: string | null;
  readonly text: string | null;
  readonly files: readonly MessageFile[];
  /** All other headers with their names as written, in one line each, without `DKIM-Signature`: the vendor signs what it composes. */
  readonly headers: readonly (readonly [name: string, value: string])[];
}

/** They are fields, or describe how the bytes are written. */
const NOT_KEPT =
  /^(?:from|to|reply-to|subject|date|mime-version|content-.*|dkim-signature|return-path|bcc|cc|sender)$/i;

/** The parts of a message that the host composed. */
export async function readMessageParts(message: OutgoingMessage): Promise<MessageParts> {
  const simple = readSimpleMessage(message.content);
  return simple ? partsOfSimple(simple, message) : partsOfAny(message);
}

function partsOfSimple({ headers, html, text }: SimpleMessage, { envelope }: OutgoingMessage): MessageParts {
  const address = (name: string) => addressOf(addressParser(headerOf(headers, name))[0]);
  return {
    from: address('from') ?? { name: '', email: envelope.from },
    to: { name: address('to')?.name ?? '', email: envelope.to },
    replyTo: address('reply-to') ?? null,
    subject: decodedHeader(headers, 'subject'),
    html,
    text,
    files: [],
    headers: headers.filter(([name]) => !NOT_KEPT.test(name)),
  };
}

async function partsOfAny({ content, envelope }: OutgoingMessage): Promise<MessageParts> {
  const email = await PostalMime.parse(content, { attachmentEncoding: 'arraybuffer' });
  return {
    from: addressOf(email.from) ?? { name: '', email: envelope.from },
    to: { name: addressOf(email.to?.[0])?.name ?? '', email: envelope.to },
    replyTo: addressOf(email.replyTo?.[0]) ?? null,
    subject: email.subject ?? '',
    html: email.html ?? null,
    text: email.text ?? null,
    files: email.attachments.map((file) => fileOf(file)),
    headers: email.headers
      .filter(({ key }) => !NOT_KEPT.test(key))
      .map(({ originalKey, value }) => [originalKey, value.replace(/[\r\n]+[ \t]*/g, ' ').trim()] as const),
  };
}

function addressOf(address: Address | undefined): MessageAddress | undefined {
  return address?.address ? { name: address.name, email: address.address } : undefined;
}

function fileOf({ filename, mimeType, content, contentId }: Attachment): MessageFile {
  return {
    name: filename ?? '',
    type: mimeType,
    content: typeof content === 'string' ? Buffer.from(content) : new Uint8Array(content),
    contentId: contentId?.replace(/^<|>$/g, '') ?? null,
  };
}
