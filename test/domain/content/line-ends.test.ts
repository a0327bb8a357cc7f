/** Whatever an author or a recipient's values bring, every line of a message ends in CRLF, and no CR or LF stands elsewhere. */
import { expect, test } from 'vitest';
import { compileMessage } from '../../../src/domain/content/compile-message.ts';
import { drawn, fc } from '../../support/property.ts';
import { messageSource, NOW, recipient } from './message-factory.ts';

const text = fc
  .array(
    fc.constantFrom(
      '\r',
      '\n',
      '\r\n',
      '\n\r',
      '.',
      '\r.\r',
      '\n.\n',
      ' ',
      '\t',
      'a',
      'ü',
      '{FIRST_NAME}',
      '{CITY}',
      '=',
      '<p>',
      '\0',
    ),
    {
      maxLength: 30,
    },
  )
  .map((parts) => parts.join(''));

test('of campaigns, tests and mails of a list', { timeout: 300_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.record({
        kind: fc.constantFrom('marketing' as const, 'transactional' as const),
        subject: text,
        name: text,
        html: text,
        plain: text,
        first: text,
        city: text,
        file: text,
      }),
      async ({ kind, subject, name, html, plain, first, city, file }) => {
        const source = messageSource({
          ...{ kind, subject, html: `<p>a</p>${html}`, plain: `a${plain}`, from: { name, email: 'news@example.org' } },
          files: { attachments: [{ name: `a${file}`, type: 'text/plain', bytes: Buffer.from(file) }], images: [] },
        });
        const message = await compileMessage(source, { now: () => NOW });
        const { content } = await message.fill(recipient({ FIRST_NAME: first, CITY: city }));
        expect(content.toString('latin1')).not.toMatch(/\r(?!\n)|(?<!\r)\n/);
      },
    ),
    { numRuns: drawn(100) },
  );
});
