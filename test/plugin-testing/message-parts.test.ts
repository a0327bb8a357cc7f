/** Parts of composed messages, for vendors that take fields: a short reader for most messages says what the general one says. */
import PostalMime from 'postal-mime';
import { describe, expect, test } from 'vitest';
import { readMessageParts } from '../../src/plugin-api/message-parts.ts';
import { readSimpleMessage } from '../../src/plugin-api/simple-message.ts';

const HEAD = [
  'From: =?utf-8?Q?Caf=C3=A9_=22Z=C3=BCrich=22?= <news@house.test>',
  'To: "Lovelace, Ada" <ada@there.test>',
  'Reply-To: Help <help@house.test>',
  'Subject: =?utf-8?B?R3LDvMOfZSBhdXM=?= =?utf-8?Q?_Z=C3=BCrich?=',
  'Message-ID: <mail.k1@house.test>',
  'List-Unsubscribe: <https://house.test/u/1>,',
  ' <mailto:u@house.test>',
  'List-Unsubscribe-Post: List-Unsubscribe=One-Click',
  'DKIM-Signature: v=1; a=rsa-sha256; d=house.test',
  'MIME-Version: 1.0',
];
const message = (type: string, body: string) => ({
  envelope: { from: 'bounce@house.test', to: 'ada@there.test' },
  content: Buffer.from([...HEAD, ...type.split('\n'), '', body].join('\r\n')),
  messageId: '<mail.k1@house.test>',
  idempotencyKey: 'mail.k1',
  needsSmtpUtf8: false,
});
const QP = 'Gr=C3=BC=C3=9Fe {{x}} %recipient.x% =3D long=\r\n line =\r\n end =E2=82=AC=zz\r\n..dots\r\n';
const part = (headers: string, body: string) => `--b1\r\n${headers.replaceAll('\n', '\r\n')}\r\n\r\n${body}\r\n`;
const alternatives =
  part('Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: quoted-printable', QP) +
  part(
    'Content-Type: text/html; charset="utf-8"\nContent-Transfer-Encoding: base64',
    Buffer.from('<p>Grüße aus Zürich 🐦</p>').toString('base64'),
  );

const SIMPLE = {
  'a text in quoted-printable': message(
    'Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: quoted-printable',
    QP,
  ),
  'an HTML text in 8bit': message(
    'Content-Type: text/html; charset=utf-8\nContent-Transfer-Encoding: 8bit',
    '<p>Grüße {{x}} {x}</p>\r\n',
  ),
  'both as alternatives': message('Content-Type: multipart/alternative; boundary="b1"', `${alternatives}--b1--\r\n`),
};

describe.each(Object.entries(SIMPLE))('%s', (_name, given) => {
  test('is read by the short reader, with the same texts and headers', async () => {
    expect(readSimpleMessage(given.content)).toBeDefined();
    const parts = await readMessageParts(given);
    const other = await PostalMime.parse(given.content);
    expect(lines(parts.html)).toBe(lines(other.html));
    expect(lines(parts.text)).toBe(lines(other.text));
    expect(parts).toMatchObject({
      from: { name: 'Café "Zürich"', email: 'news@house.test' },
      to: { name: 'Lovelace, Ada', email: 'ada@there.test' },
      replyTo: { name: 'Help', email: 'help@house.test' },
      subject: 'Grüße aus Zürich',
      files: [],
    });
    expect(parts.subject).toBe(other.subject);
    expect(parts.headers).toEqual([
      ['Message-ID', '<mail.k1@house.test>'],
      ['List-Unsubscribe', '<https://house.test/u/1>, <mailto:u@house.test>'],
      ['List-Unsubscribe-Post', 'List-Unsubscribe=One-Click'],
    ]);
  });
});

const OTHERS = {
  'an attachment': message(
    'Content-Type: multipart/mixed; boundary="b1"',
    `${part('Content-Type: text/plain', 'Hello')}${part('Content-Type: application/pdf; name="a.pdf"\nContent-Disposition: attachment; filename="a.pdf"\nContent-Transfer-Encoding: base64', 'AAEC')}--b1--\r\n`,
  ),
  'an inline image': message(
    'Content-Type: multipart/related; boundary="b1"',
    `${part('Content-Type: text/html', '<img src="cid:x@y">')}${part('Content-Type: image/png\nContent-ID: <x@y>\nContent-Disposition: inline; filename="a.png"\nContent-Transfer-Encoding: base64', 'AAEC')}--b1--\r\n`,
  ),
};

test.each(Object.entries(OTHERS))('%s is read by the general one', async (_name, given) => {
  expect(readSimpleMessage(given.content)).toBeUndefined();
  const { files } = await readMessageParts(given);
  expect(files).toMatchObject([{ content: new Uint8Array([0, 1, 2]) }]);
});

test('what is broken is left to the general one', () => {
  const broken = [
    message('Content-Type: text/plain; charset=iso-8859-1', 'x'),
    message('Content-Type: text/plain\nContent-Transfer-Encoding: x-uuencode', 'x'),
    message('Content-Type: multipart/alternative; boundary="b1"', alternatives),
    message('Content-Type: multipart/alternative; boundary="b1"', `${alternatives}${alternatives}--b1--\r\n`),
  ];
  expect(broken.map(({ content }) => readSimpleMessage(content))).toEqual(broken.map(() => undefined));
  expect(readSimpleMessage(Buffer.from('no header'))).toBeUndefined();
});

/** A general parser ends lines in its own way. */
function lines(text: string | null | undefined): string | undefined {
  return text?.replaceAll('\r\n', '\n').trimEnd();
}
