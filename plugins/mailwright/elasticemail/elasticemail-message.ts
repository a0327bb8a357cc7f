/**
 * A message as version 4 of Elastic Email's interface takes it. It composes the mail itself: with a Message-ID of its own, images of the HTML
 * as ordinary attachments (its files have no Content-ID), and its own List-Unsubscribe where the account is set so.
 */
import { hideBraces, type MessageAddress, type MessageFile, type MessageParts } from '../../../src/plugin-api/index.ts';

/** It replaces `{name}` in subject, HTML and text, by nothing where it knows no such field. */
const BRACES = /\{/g;
const FIELD = 'mailwright_brace';
/** Signs for which a name in an address has to be quoted. */
const SPECIALS = /[()<>[\]:;@\\,."]/;

export function elasticMessage(parts: MessageParts, idempotencyKey: string): object {
  const { from, to, replyTo, subject, html, text, files } = parts;
  const hasBraces = `${subject}${text ?? ''}`.includes('{');
  return {
    Recipients: { To: [addressText(to)] },
    Content: {
      From: addressText(from),
      ...(replyTo && { ReplyTo: addressText(replyTo) }),
      Subject: asWritten(subject),
      Body: [
        ...(html === null ? [] : [bodyPart('HTML', hideBraces(html, BRACES))]),
        ...(text === null ? [] : [bodyPart('PlainText', asWritten(text))]),
      ],
      ...(hasBraces && { Merge: { [FIELD]: '{' } }),
      Headers: Object.fromEntries(parts.headers.filter(([name]) => !/^message-id$/i.test(name))),
      Postback: idempotencyKey,
      ...(files.length > 0 && { Attachments: files.map((file) => attachmentOf(file)) }),
    },
    // Links and pixels are ours already.
    Options: { TrackOpens: false, TrackClicks: false },
  };
}

function bodyPart(type: 'HTML' | 'PlainText', content: string): object {
  return { ContentType: type, Charset: 'utf-8', Content: content };
}

/** A text knows no entities: the brace comes as the value of a field. */
function asWritten(text: string): string {
  return text.replace(BRACES, `{${FIELD}}`);
}

function addressText({ name, email }: MessageAddress): string {
  if (name === '') return email;
  return SPECIALS.test(name) ? `"${name.replace(/["\\]/g, "'")}" <${email}>` : `${name} <${email}>`;
}

function attachmentOf({ name, type, content }: MessageFile): object {
  return {
    ...{ Name: name || 'attachment', ContentType: type, Size: content.byteLength },
    BinaryContent: Buffer.from(content).toString('base64'),
  };
}
