/** The footer of the customer's plan in the message: in both parts, merge tags filled, never a template. */
import { DomUtils, parseDocument } from 'htmlparser2';
import { describe, expect, test } from 'vitest';
import { compileMessage } from '../../../src/domain/content/compile-message.ts';
import type { MessageSource } from '../../../src/domain/content/message.ts';
import { messageSource, recipient } from './message-factory.ts';
import { parseEmail } from './parse-email.ts';

const footer = { html: '<p id="house">Sent with <b>House</b> to {EMAIL}</p>', plain: 'Sent with House to {EMAIL}' };

async function sent(changes: Partial<MessageSource>) {
  const message = await compileMessage(
    messageSource({ kind: 'marketing', trackClicks: false, trackOpens: false, ...changes }),
  );
  const parsed = await parseEmail((await message.fill(recipient())).content);
  return { html: parsed.html, text: parsed.text, message };
}

describe('the footer of a plan', () => {
  test('stands at the end of the body of html, and of plain text', async () => {
    const html = '<html><body><p>Hello</p></body></html>';
    const mail = await sent({ html, plain: 'Hello', footer });
    expect(mail.html).toMatch(
      /<p>Hello<\/p>[^]*<p id="house">Sent with <b>House<\/b> to [^<]*@[^<]*<\/p>[^]*Unsubscribe[^]*<\/body><\/html>/,
    );
    expect(mail.text).toMatch(/^Hello\n\nSent with House to \S+@\S+\n[^]*Unsubscribe/);
  });

  test('is there once in a text that is made from html, and made from html where it has no text of its own', async () => {
    const made = await sent({ html: '<p>Hello</p>', plain: null, footer });
    expect(made.text.match(/Sent with House/g)).toHaveLength(1);
    const own = await sent({ html: '<p>Hello</p>', plain: 'Hello', footer: { ...footer, plain: '' } });
    expect(own.text).toContain('Sent with House');
    const plainOnly = await sent({ html: '<p>Hello</p>', plain: null, footer: { ...footer, html: '' } });
    expect(plainOnly.text).toContain('Sent with House');
    expect(plainOnly.html).not.toContain('House');
  });

  test('with the unsubscribe link needs no second one, but is not the author’s', async () => {
    const html = '<a href="{UNSUBSCRIBE_URL}">Leave</a>';
    const mail = await sent({ html: '<p>Hello</p>', plain: null, footer: { html, plain: 'Leave: {UNSUBSCRIBE_URL}' } });
    expect(mail.html).toContain('Leave');
    expect(mail.html + mail.text).not.toContain('Unsubscribe');
    expect(mail.message.showsUnsubscribe).toBe(false);
  });

  test('is no template: Liquid and unknown tags stay as they are, in a Liquid mail too', async () => {
    const odd = { html: '<p>{{ 1 | plus: }} {% if %} {NO_SUCH}</p>', plain: '{{ x' };
    const mail = await sent({ html: '<p>{{ "a" | upcase }}</p>', plain: '{{ "b" | upcase }}', footer: odd });
    expect(mail.html).toContain('<p>A</p>');
    expect(mail.html).toContain('<p>{{ 1 | plus: }} {% if %} {NO_SUCH}</p>');
    expect(mail.text).toMatch(/^B\n\n\{\{ x\n/);
  });

  test('is not in transactional mail', async () => {
    const mail = await sent({ kind: 'transactional', html: '<p>Hello</p>', plain: 'Hello', footer });
    expect(mail.html + mail.text).not.toContain('House');
  });
});

describe('what the author left open', () => {
  const OPEN = [
    '<!--',
    '<!-- a > b',
    '<style>p{}',
    '<style',
    '<title>x',
    '<textarea>x',
    '<script>x',
    '<script><!--<script>',
    '<xmp>',
    '<iframe>',
    '<noembed>',
    '<a title="x',
    "<a title='x",
    '<a href=x',
    '<p ',
    '</p',
    '<!doctype',
    '<?php',
    '{% if true %}<!--{% endif %}',
    '{% raw %}<style>{% endraw %}',
  ];
  const UNSEEN = ['style', 'title', 'textarea', 'script', 'xmp', 'iframe', 'noembed', 'noframes'];
  const shownText = (html: string): string => {
    const page = parseDocument(html);
    for (const element of DomUtils.getElementsByTagName((name) => UNSEEN.includes(name), page)) {
      DomUtils.removeElement(element);
    }
    return DomUtils.textContent(page);
  };

  test.each(OPEN)('hides neither footer: %s', async (open) => {
    const mail = await sent({ html: `<p>Hello</p>${open}`, plain: 'x', trackOpens: true, footer });
    const page = shownText(mail.html);
    expect(page).toContain('Sent with House');
    expect(page).toContain('Unsubscribe');
    const bare = await sent({ html: `<p>Hello</p>${open}`, plain: 'x' });
    expect(shownText(bare.html)).toContain('Unsubscribe');
  });

  test('and closed html gets nothing to close it', async () => {
    const mail = await sent({ html: '<p>Hello</p><!-- x --><style>p{}</style>', plain: 'x', footer });
    expect(mail.html).toContain('</style>\n<p id="house">');
    expect(mail.html).toContain('Unsubscribe</a>');
  });
});

describe('the author’s own way to unsubscribe', () => {
  const shows = async (changes: Partial<MessageSource>) =>
    (await compileMessage(messageSource(changes))).showsUnsubscribe;
  test('is seen in html, as merge tag and as Liquid, and in plain text where there is no html', async () => {
    expect(await shows({ html: '<a href="{UNSUBSCRIBE_URL}">x</a>' })).toBe(true);
    expect(await shows({ html: '<a href="{{ unsubscribe_url }}">x</a>' })).toBe(true);
    expect(await shows({ html: '<p>x</p>', plain: '{UNSUBSCRIBE_URL}' })).toBe(false);
    expect(await shows({ html: null, plain: '{UNSUBSCRIBE_URL}' })).toBe(true);
  });
});
