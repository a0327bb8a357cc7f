/** Attachments and pictures, against what a well-known composer makes of them, both read by a well-known parser. */
import { fc } from '../../support/property.ts';
import MailComposer from 'nodemailer/lib/mail-composer';
import { expect, test } from 'vitest';
import { ValidationError } from '../../../src/lib/errors.ts';
import { compileMessage } from '../../../src/domain/content/compile-message.ts';
import {
  encodedBytes,
  isRefusedFile,
  MESSAGE_FILES_MAX,
  typeToSend,
  type InlineImage,
  type MessageFile,
} from '../../../src/domain/content/message-files.ts';
import type { MessageSource } from '../../../src/domain/content/message.ts';
import { cheapestOfThree } from '../../support/busy-machine.ts';
import { messageSource, NOW, recipient } from './message-factory.ts';
import { parseEmail } from './parse-email.ts';

const PNG = Buffer.from('89504e470d0a1a0a', 'hex');
const image = (name: string, changes: Partial<InlineImage> = {}): InlineImage => ({
  id: `img${Buffer.from(name).toString('hex').slice(0, 20)}`,
  reference: `cid:${name}`,
  url: `https://t.example.net/files/${encodeURIComponent(name)}`,
  name,
  type: 'image/png',
  bytes: PNG,
  ...changes,
});
const file = (name: string, type = 'application/pdf', bytes: Uint8Array = Buffer.from('%PDF')): MessageFile => ({
  name,
  type,
  bytes,
});

async function read(source: Partial<MessageSource>) {
  const message = await compileMessage(messageSource(source), { now: () => NOW });
  const { content } = await message.fill(recipient());
  return { message, content, raw: content.toString('latin1'), email: await parseEmail(content) };
}

const NAMES = [
  'report.pdf',
  'Jahresbericht März.pdf',
  '年報.pdf',
  'مستند.pdf',
  `${'long name '.repeat(19)}.pdf`,
  '👩‍👩‍👧.pdf',
  `a"b.pdf`,
  "o'clock 100%.pdf",
  'semi;colon=x.pdf',
];
const name = fc
  .oneof(fc.constantFrom(...NAMES), fc.string({ unit: 'grapheme', minLength: 1, maxLength: 60 }))
  .map((raw) => {
    const clean = raw
      .toWellFormed()
      .replace(/[\p{C}\p{Zl}\p{Zp}\\/:*?<>|]/gu, '')
      .trim();
    return `${clean || 'x'}.pdf`;
  });
const files = fc.uniqueArray(fc.record({ name, bytes: fc.uint8Array({ maxLength: 400 }) }), {
  maxLength: 4,
  selector: (one) => one.name,
});

test('carries the files that a general composer would, whatever they are called and hold', async () => {
  await fc.assert(
    fc.asyncProperty(files, files, fc.boolean(), async (attached, shown, hasHtml) => {
      const images = shown.map(({ name: called, bytes }, no) =>
        image(`${no}${called}.png`, { bytes, id: `part${no}` }),
      );
      const html = hasHtml
        ? `<p>text</p>${images.map(({ reference }) => `<img src="${reference.replaceAll('"', '&quot;')}">`).join('')}`
        : null;
      const attachments = attached.map((one) => file(one.name, 'application/pdf', one.bytes));
      const { email, content } = await read({
        kind: 'transactional',
        html,
        plain: 'plain text',
        files: { attachments, images },
      });
      const expected = await composed({
        from: 'n@example.org',
        to: 'ada@example.com',
        text: 'plain text',
        ...(html === null ? {} : { html }),
        attachments: [
          ...images.map((one) => ({
            filename: one.name,
            content: Buffer.from(one.bytes),
            contentType: one.type,
            ...(html === null ? {} : { cid: `${one.id}@example.org` }),
          })),
          ...attachments.map((one) => ({ filename: one.name, content: Buffer.from(one.bytes), contentType: one.type })),
        ],
      });
      expect(email.text).toBe(expected.text);
      expect(seen(email)).toEqual(seen(expected));
      for (const line of content.toString('latin1').split('\r\n')) expect(line.length).toBeLessThanOrEqual(78);
    }),
    { numRuns: 150 },
  );
});

function seen({ attachments }: Awaited<ReturnType<typeof parseEmail>>) {
  return attachments
    .map(({ filename, mimeType, disposition, contentId, content }) => {
      const isInline = disposition === 'inline';
      const bytes = Buffer.from(content as ArrayBuffer).toString('hex');
      // Content-IDs are compared where the html refers to them.
      return { filename: filename?.trim(), mimeType, disposition, contentId: isInline ? contentId : undefined, bytes };
    })
    .toSorted((a, b) => JSON.stringify(a).localeCompare(JSON.stringify(b)));
}

async function composed(options: ConstructorParameters<typeof MailComposer>[0]) {
  const built = await new Promise<Buffer>((resolve, reject) => {
    new MailComposer(options)
      .compile()
      .build((error: Error | null, result: Buffer) => (error ? reject(error) : resolve(result)));
  });
  return parseEmail(built);
}

test('nests alternatives in what is related to them, and that in the attachments', async () => {
  const { raw } = await read({
    html: '<p>a<img src="cid:logo.png"></p>',
    files: { attachments: [file('a.pdf')], images: [image('logo.png')] },
  });
  const types = [...raw.matchAll(/^Content-Type: ([a-z/-]+)/gm)].map(([, type]) => type);
  expect(types).toEqual([
    'multipart/mixed',
    'multipart/related',
    'multipart/alternative',
    'text/plain',
    'text/html',
    'image/png',
    'application/pdf',
  ]);
  expect(raw).toContain('type="multipart/alternative";');
});

test('a picture is a part in the mail and an address in the page, however its author spelled it', async () => {
  const html = [
    '<img src="cid:my logo.png">',
    "<img src='CID:my%20logo.png'>",
    '<td background=cid:a.png>',
    '<p style="background: url(cid:a.png)">',
    '<img src="https://t.example.net/files/1/b.png">',
    '<img src="cid:nobody.png"> cid:a.pngx',
  ].join('\n');
  const b = image('b.png', {
    reference: 'https://t.example.net/files/1/b.png',
    url: 'https://t.example.net/files/1/b.png',
  });
  const images = [image('my logo.png', { id: 'my' }), image('a.png', { id: 'a' }), { ...b, id: 'b' }];
  const { message, email } = await read({ kind: 'transactional', html, files: { attachments: [], images } });
  expect(email.html).toBe(
    [
      '<img src="cid:my@example.org">',
      "<img src='cid:my@example.org'>",
      '<td background="cid:a@example.org">',
      '<p style="background: url(cid:a@example.org)">',
      '<img src="cid:b@example.org">',
      '<img src="cid:nobody.png"> cid:a.pngx',
    ].join('\n'),
  );
  expect(message.warnings).toEqual(
    ['cid:nobody.png', 'cid:a.pngx'].map((cid) => `"${cid}" in html names no picture of the message.`),
  );
  const { html: page } = await message.texts(recipient());
  expect(page).toContain('<img src="https://t.example.net/files/my%20logo.png">');
  expect(page).not.toContain('@example.org');
});

test('refuses what mailbox providers refuse, and what is too much, naming the file', async () => {
  const refused = (attachments: MessageFile[]) =>
    compileMessage(messageSource({ files: { attachments, images: [] } })).then(
      () => 'taken',
      (error: unknown) => (error instanceof ValidationError ? error.fields['attachments']?.join(' ') : String(error)),
    );
  for (const bad of ['x.exe', 'X.EXE', 'x.pdf.js', 'x.exe.', 'x.exe . ', 'a.vbs'])
    expect(await refused([file(bad)])).toContain(bad);
  expect(await refused([file('harmless.pdf', 'application/x-msdownload')])).toContain('harmless.pdf');
  expect(await refused([file('large.pdf', 'application/pdf', Buffer.alloc(10_485_761))])).toContain('10 MB');
  expect(await refused(Array.from({ length: MESSAGE_FILES_MAX + 1 }, (_, no) => file(`${no}.pdf`)))).toContain(
    'at most',
  );
  const large = [1, 2].map((no) => file(`${no}.pdf`, 'application/pdf', Buffer.alloc(10_485_760)));
  expect(await refused(large)).toContain('25 MB');
  expect(await refused([file('exe.pdf'), file('js'), file('.exe.txt')])).toBe('taken');
});

test('tells the type by the bytes, else by the name, and never sends mail in mail as base64', () => {
  expect(typeToSend({ name: 'a.csv', type: 'application/octet-stream' })).toBe('text/csv');
  expect(typeToSend({ name: 'a.csv', type: 'application/zip' })).toBe('application/zip');
  for (const type of ['message/rfc822', 'multipart/mixed', 'text/html; charset=x', 'x\r\nBcc: y', '']) {
    expect(typeToSend({ name: 'a.bin', type })).toBe('application/octet-stream');
  }
  expect(isRefusedFile({ name: 'a.txt', type: 'text/plain' })).toBe(false);
});

test('a large file is encoded once, and told in advance within a hundredth', async () => {
  const bytes = Buffer.alloc(3_000_000, 'x');
  const { message, content } = await read({
    files: { attachments: [file('a.pdf', 'application/pdf', bytes)], images: [] },
  });
  const without = (await read({})).content.length;
  expect((encodedBytes(bytes.length) - (content.length - without)) / content.length).toBeLessThan(0.01);
  expect(encodedBytes(bytes.length)).toBeGreaterThanOrEqual(content.length - without - 300);
  // The texts and headers are written anew for everybody, the file is copied. Encoding it anew would take sixty times
  // as long; a third of that leaves space for a busy machine.
  const costOf = (work: () => unknown) =>
    cheapestOfThree(async () => {
      for (let n = 0; n < 20; n++) await work();
    });
  const encoding = await costOf(() => bytes.toString('base64'));
  expect(await costOf(() => message.fill(recipient()))).toBeLessThan(encoding * 20);
});
