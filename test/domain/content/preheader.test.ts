/** The preheader: first in the html, seen in lists of mails and nowhere else, whatever is written in it. */
import { expect, test } from 'vitest';
import { compileMessage } from '../../../src/domain/content/compile-message.ts';
import type { MessageSource } from '../../../src/domain/content/message.ts';
import { messageSource, recipient } from './message-factory.ts';

const HIDDEN = /<div style="display:none;[^"]*mso-hide:all">((?:[^<])*)<\/div>/;

async function filled(changes: Partial<MessageSource>, fields = {}) {
  const message = await compileMessage(messageSource(changes));
  const { html = '', plain } = await message.texts(recipient(fields));
  const [element = '', text = ''] = HIDDEN.exec(html) ?? [];
  return { html, plain, element, text, at: html.indexOf(element) };
}

test('stands hidden at the beginning of the body, and not in the plain text', async () => {
  const { html, plain, text, at } = await filled({ preheader: 'Spring sale until Sunday' });
  expect(html.slice(0, at)).toBe('<html><body>');
  expect(text.startsWith('Spring sale until Sunday&zwnj;&nbsp;')).toBe(true);
  expect(plain).not.toContain('Spring sale');
});

test('is filled for each reader like the subject: merge tags, Liquid, and text that is never html', async () => {
  const tags = await filled(
    { preheader: 'For {FIRST_NAME} & <b>friends</b>' },
    { FIRST_NAME: '<i>"Ada"</i>\r\nBcc: x' },
  );
  expect(tags.text).toMatch(/^For &lt;i&gt;&quot;Ada&quot;&lt;\/i&gt; Bcc: x &amp; &lt;b&gt;friends&lt;\/b&gt;&zwnj;/);
  const liquid =
    "{% if subscriber.first_name == 'Ada' %}Dear {{ subscriber.first_name | upcase }}{% endif %}{{ '<b>' }}";
  expect((await filled({ preheader: liquid }, { FIRST_NAME: 'Ada' })).text).toMatch(/^Dear ADA&lt;b&gt;&zwnj;/);
});

test('is padded up to what lists show, so that the first words of the body do not follow', async () => {
  const fillers = (text: string) => text.split('&zwnj;&nbsp;').length - 1;
  expect(fillers((await filled({ preheader: 'x' })).text)).toBe(149);
  expect(fillers((await filled({ preheader: 'x'.repeat(255) })).text)).toBe(0);
  expect(fillers((await filled({ preheader: '{CITY}' }, { CITY: 'y'.repeat(100) })).text)).toBe(50);
});

test.each([
  ['none', undefined, {}],
  ['blanks', ' ', {}],
  ['a tag without a value', '{CITY}', {}],
])('leaves nothing behind when it comes to nothing: %s', async (_, preheader, fields) => {
  const without = await filled({});
  const { html } = await filled(preheader === undefined ? {} : { preheader }, fields);
  expect(html).toBe(without.html);
});

test.each([
  ['a fragment', '<p>Hi</p>', '^'],
  [
    'attributes with a bracket',
    '<html><BODY data-x="a>b" class=c><p>Hi</p></BODY></html>',
    '<html><BODY data-x="a>b" class=c>',
  ],
  ['a head and no body', '<!doctype html><title>x</title><p>Hi</p>', '<!doctype html><title>x</title>'],
  ['a body in a comment', '<!-- <body> --><html><body ><p>Hi</p></body></html>', '<!-- <body> --><html><body >'],
  ['a tag in the body tag', '<body title="{CITY}>"><p>Hi</p></body>', '<body title="Berlin>">'],
])('finds the beginning of the body: %s', async (_, html, before) => {
  const made = await filled({ html, preheader: 'Sale' }, { CITY: 'Berlin' });
  expect(made.element).not.toBe('');
  expect(made.html.slice(0, made.at)).toBe(before === '^' ? '' : before);
});

test('a fault in it is told on its own field', async () => {
  const fault = (preheader: string) => compileMessage(messageSource({ preheader })).catch((error: unknown) => error);
  expect(await fault('{{ unclosed')).toMatchObject({ fields: { preheader: [expect.any(String)] } });
  expect(await fault('{{ x | nofilter }}')).toMatchObject({ fields: { preheader: [expect.any(String)] } });
});

test('html with Liquid takes it as well, and a message of plain text has none', async () => {
  const html = '<body>{% if subscriber.first_name %}<p>{{ subscriber.first_name }}</p>{% endif %}</body>';
  expect((await filled({ html, preheader: 'Sale for {FIRST_NAME}' }, { FIRST_NAME: 'Ada' })).text).toMatch(
    /^Sale for Ada/,
  );
  expect((await filled({ html: null, plain: 'Hi', preheader: 'Sale' })).plain).not.toContain('Sale');
});
