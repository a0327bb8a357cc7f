/** The plain text that is made of ugly html: what a reader needs is there, what nobody should see is not. */
import { expect, test } from 'vitest';
import { compileMessage } from '../../../src/domain/content/compile-message.ts';
import { htmlToPlain } from '../../../src/domain/content/html-to-plain.ts';
import { messageSource, NOW, recipient } from './message-factory.ts';

const FILLER = '&zwnj;&nbsp;'.repeat(80);

test.each([
  ['entities', '<p>Hi&nbsp;there &amp; &euro; &#8212; &lt;x&gt;</p>', 'Hi there & € — <x>'],
  [
    'style, script and comments',
    '<style>p{}</style><script>alert(1)</script><!-- c --><!--[if mso]><p>Outlook</p><![endif]--><p>All</p>',
    'All',
  ],
  ['a title', '<html><head><title>T</title></head><body>text</body></html>', 'text'],
  [
    'a preheader and its filler',
    `<div style="display:none">Look inside${FILLER}</div><p>Text</p>`,
    'Look inside\n\nText',
  ],
  ['cells', '<table><tr><td>A</td><td>B</td></tr><tr><th>C</th><td>D</td></tr></table>', 'A B C D'],
  ['lists', '<ul><li>one</li><li>two<ul><li>inner</li></ul></li></ul>', '* one\n * two\n   * inner'],
  ['a link with text', '<a href="https://a.example/x">Read <b>more</b></a>', 'Read more [https://a.example/x]'],
  ['a link that is its text', '<a href="https://b.example/">https://b.example/</a>', 'https://b.example/'],
  ['a link on a picture', '<a href="https://c.example"><img src="x" alt="Logo"></a>', 'Logo [https://c.example]'],
  [
    'links on pictures without words, side by side',
    'Us<a href="https://a.example/x"><img src="f.png"></a><a href="https://b.example/y"><img alt=""></a>: here',
    'Us https://a.example/x https://b.example/y: here',
  ],
  [
    'links that are their text, side by side',
    '<a href="https://a.example/x">https://a.example/x</a><a href="https://b.example/y">https://b.example/y</a>.',
    'https://a.example/x https://b.example/y.',
  ],
  [
    'mailboxes and telephones',
    '<a href="mailto:a@b.example?subject=Hi">Write</a>, <a href="MAILTO:a@b.example">a@b.example</a>, <a href="tel:+431">+43 1</a>, <a href="tel:+432">call</a>',
    'Write [a@b.example], a@b.example, +43 1, call [tel:+432]',
  ],
  [
    'what only a page can do',
    '<a href="#top">Up</a> <a href="javascript:x()">Click</a> <a href="mailto:?subject=x">Share</a>',
    'Up Click Share',
  ],
  ['breaks and rules', 'a<br>b<hr>c', /^a\nb\n+-+\n+c$/],
  ['a joined emoji', '<p>👩‍👩‍👧‍👦</p>', '👩‍👩‍👧‍👦'],
  ['1,000 boxes in each other', `${'<div>'.repeat(1_000)}deep${'</div>'.repeat(1_000)}`, 'deep'],
  ['60 tables in each other', `${'<table><tr><td>'.repeat(60)}deep${'</td></tr></table>'.repeat(60)}`, 'deep'],
  ['tags that are never closed', `${'<b><i>'.repeat(500)}text`, 'text'],
])('%s', (_what, html, plain) => {
  const text = htmlToPlain(html).replace(/^\s+|\s+$/g, '');
  if (typeof plain === 'string') expect(text.replace(/(?<=[A-D])\s+(?=[A-D])/g, ' ')).toBe(plain);
  else expect(text).toMatch(plain);
});

test('4,900 open tags cost neither the stack nor more than a moment', async () => {
  const html = `${'<div>'.repeat(4_900)}deep {FIRST_NAME}`;
  const message = await compileMessage(messageSource({ html }), { now: () => NOW });
  expect((await message.texts(recipient())).html).toContain('deep friend');
});
