/** A message as the host composes it, with everything that a driver of a vendor has to hand over; and a driver to hand it to. */
import { openOutboundPool } from '../../src/lib/outbound-pool.ts';
import type { OutgoingMessage, SendingDriver, SendingDriverRegistration } from '../../src/plugin-api/index.ts';
import type { ApiVendor } from './api-vendor.ts';
import { TINY_PNG } from './tiny-png.ts';

export const MESSAGE_ID = '<mail.k1@house.test>';
export const UNSUBSCRIBE = '<https://house.test/u/abc>, <mailto:u@house.test?subject=unsubscribe>';
export const NOTES = 'one line\r\nanother — with a dash\r\n';

export interface MessageTexts {
  readonly subject?: string;
  readonly text?: string;
  readonly html?: string;
  /** Header lines, each with its end. */
  readonly headers?: string;
  readonly to?: string;
}

/** Both texts, an inline image, an attachment, and all headers of a campaign. */
export function wholeMessage({
  subject = 'News',
  text = 'Hello',
  html = '<p>Hello</p>',
  headers = '',
  to = 'Ann <ann@there.test>',
}: MessageTexts = {}): OutgoingMessage {
  const base64 = (bytes: Uint8Array | string) => Buffer.from(bytes).toString('base64');
  const content = [
    'From: =?utf-8?Q?J=C3=BCrgen?= <news@house.test>',
    `To: ${to}`,
    'Reply-To: Desk <desk@house.test>',
    `Subject: ${subject}`,
    `Message-ID: ${MESSAGE_ID}`,
    'Date: Fri, 27 Nov 2026 12:00:00 +0000',
    'List-Unsubscribe: <https://house.test/u/abc>,\r\n <mailto:u@house.test?subject=unsubscribe>',
    'List-Unsubscribe-Post: List-Unsubscribe=One-Click',
    'List-Id: =?utf-8?Q?F=C3=BCr_alle?= <l1.house.test>',
    'Feedback-ID: c1:k1:l1:mailwright',
    `Precedence: bulk\r\n${headers}DKIM-Signature: v=1; a=rsa-sha256; d=house.test; s=a; b=x`,
    'MIME-Version: 1.0',
    'Content-Type: multipart/mixed; boundary="m"',
    '',
    '--m',
    'Content-Type: multipart/alternative; boundary="a"',
    '',
    '--a',
    'Content-Type: text/plain; charset=utf-8',
    'Content-Transfer-Encoding: 8bit',
    '',
    text,
    '--a',
    'Content-Type: multipart/related; boundary="r"',
    '',
    '--r',
    'Content-Type: text/html; charset=utf-8',
    'Content-Transfer-Encoding: 8bit',
    '',
    html,
    '--r',
    'Content-Type: image/png',
    'Content-Disposition: inline; filename="logo.png"',
    'Content-ID: <logo@house.test>',
    'Content-Transfer-Encoding: base64',
    '',
    base64(TINY_PNG),
    '--r--',
    '--a--',
    '--m',
    'Content-Type: text/plain; charset=utf-8; name="notes.txt"',
    'Content-Disposition: attachment; filename="notes.txt"',
    'Content-Transfer-Encoding: base64',
    '',
    base64(NOTES),
    '--m--',
    '',
  ].join('\r\n');
  return {
    envelope: { from: 'bounce@house.test', to: 'ann@there.test' },
    content: Buffer.from(content),
    messageId: MESSAGE_ID,
    idempotencyKey: 'mail.k1',
    needsSmtpUtf8: false,
  };
}

/** The driver, connected to the vendor; its settings may be changed. */
export function driverFor(
  registration: SendingDriverRegistration,
  vendor: ApiVendor,
  settings: Readonly<Record<string, unknown>> = {},
): SendingDriver {
  const checked = registration.validate({ ...vendor.settings, ...settings });
  if (!checked.ok) throw new Error(JSON.stringify(checked.errors));
  return registration.connect(checked.settings, {
    ...{ connectionsMax: 1, clientName: 'client.test', replyTimeoutMs: 60_000 },
    openHttp: openOutboundPool,
  });
}
