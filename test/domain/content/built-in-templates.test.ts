/** The built-in templates, composed for a person by the compiler that sends: by the rules of mails, and looked at in a browser. */
import { afterAll, describe, expect, test } from 'vitest';
import type { Browser } from 'playwright-core';
import { compileMessage } from '../../../src/domain/content/compile-message.ts';
import type { MailData } from '../../../src/domain/content/mail-data.ts';
import { BUILT_IN_TEMPLATES } from '../../../src/domain/content/templates/built-in-templates.ts';
import type { BuiltInTemplate } from '../../../src/domain/content/templates/built-in/built-in-template.ts';
import { messageKind, messageTexts } from '../../../src/domain/content/templates/compile-template.ts';
import { CHROMIUM, launchChromium } from '../../support/chromium.ts';
import { faultsOfPage } from '../../support/look-at-page.ts';
import { brokenRules, mailOf } from './mail-rules.ts';
import { messageSource, recipient } from './message-factory.ts';
import { parseEmail } from './parse-email.ts';

/** What only marketing mail has. */
const OF_LISTS = /List-|Feedback-ID|Precedence|way out/;
const BYTES_MAX = 30 * 1024;
/** Its reminder is added at the end of marketing mail. */
const LIST = { ...messageSource().list, remindMessage: 'You signed up at our fair in Graz.' };
const ORDER: MailData = {
  ...{ order_number: 'A-1042', order_date: '12 March 2026', first_name: 'Ada', total: '€ 54.90' },
  order_url: 'https://shop.example/o/1042',
  items: [
    { name: 'Wool blanket <grey>', quantity: 1, price: '€ 39.90' },
    { name: 'Candle', price: '€ 15.00' },
  ],
};

async function composed(template: BuiltInTemplate, { data, firstName }: { data?: MailData; firstName?: string } = {}) {
  const message = await compileMessage(
    messageSource({ kind: messageKind(template.kind), ...messageTexts(template), list: LIST, trackOpens: true }),
  );
  const person = { ...recipient(firstName === undefined ? {} : { FIRST_NAME: firstName }), data };
  return { message, filled: await message.fill(person), texts: await message.texts(person) };
}

describe.each(BUILT_IN_TEMPLATES.map((template) => [template.name, template] as const))('%s', (name, template) => {
  test('keeps the rules of mails, and is small', async () => {
    const { message, filled } = await composed(template, { data: ORDER, firstName: 'Ada' });
    const broken = brokenRules(mailOf(filled.content, 'example.org'));
    expect(broken.filter((rule) => template.kind === 'marketing' || !OF_LISTS.test(rule))).toEqual([]);
    expect(message.warnings).toEqual([]);
    expect(filled.content.length).toBeLessThan(BYTES_MAX);
    expect(message.showsUnsubscribe).toBe(template.kind !== 'transactional');
  });

  test('loads nothing, has a language, one heading, a preheader and a plain text', async () => {
    const { filled } = await composed(template, { data: ORDER, firstName: 'Ada' });
    const { html, text } = await parseEmail(filled.content);
    expect(html).toMatch(/<html lang="en"/);
    expect(html.match(/<h1/g)).toHaveLength(1);
    expect(html).toMatch(/<meta name="color-scheme" content="light dark">/);
    // Only the pixel that the product adds.
    expect(html.match(/<img/g)).toHaveLength(1);
    expect(template.html).not.toMatch(/<img|<link|<script|@import|url\(|src=|background="/i);
    expect(html).toContain('display:none');
    expect(html).toContain(template.preheader.split(/[.{]/)[0] ?? '');
    expect(text).not.toMatch(/<\/?(?:p|div|td|a)\b|\{\{|\{%|&[a-z]+;/);
    expect(text.length).toBeGreaterThan(200);
    // Its own footer has all that the law asks for, so none is added.
    if (template.kind === 'marketing') expect(html.match(/Hauptstraße 1/g)).toHaveLength(1);
    if (template.kind === 'marketing') expect(html.match(/>Unsubscribe</g)).toHaveLength(1);
    if (template.kind === 'marketing') expect(html).toContain(LIST.remindMessage);
  });

  test('reads well without a name and without data', async () => {
    const { subject, html = '', plain } = (await composed(template)).texts;
    for (const text of [subject, html, plain]) {
      expect(text).not.toMatch(/\{[A-Z_]+\}|\{\{|\{%|undefined|null|NaN/);
      expect(text).not.toMatch(/Hello ,|Welcome, !|, \./);
    }
    expect(subject.trim()).not.toBe('');
  });

  test.skipIf(!CHROMIUM)('looks right on wide and narrow screens, light and dark', async () => {
    const { html = '' } = (await composed(template, { data: ORDER, firstName: 'Ada' })).texts;
    const faults: string[] = [];
    for (const colorScheme of ['light', 'dark'] as const)
      for (const width of [600, 320]) {
        const page = await (await browser()).newPage({ viewport: { width, height: 800 }, colorScheme });
        page.setDefaultTimeout(120_000);
        await page.setContent(html);
        const found = await faultsOfPage(page);
        faults.push(...found.map((fault) => `${name}, ${colorScheme}, ${width}: ${fault}`));
        const column = await page.locator('[role=main]').evaluate((element) => element.getBoundingClientRect().width);
        expect(column).toBeLessThanOrEqual(600);
        await page.close();
      }
    expect(faults).toEqual([]);
  });
});

test('a receipt shows what was bought', async () => {
  const receipt = BUILT_IN_TEMPLATES.find(({ name }) => name === 'receipt');
  if (!receipt) throw new Error('There is no receipt.');
  const { subject, html, plain } = (await composed(receipt, { data: ORDER })).texts;
  expect(subject).toBe('Your receipt for order A-1042');
  expect(html).toContain('Wool blanket &lt;grey&gt;');
  expect(html).toContain('href="https://shop.example/o/1042"');
  expect(plain).toContain('1 x Wool blanket <grey>: € 39.90\n1 x Candle: € 15.00\n\nTotal: € 54.90\n');
  const hostile = { ...ORDER, order_url: 'javascript:alert(1)' };
  expect((await composed(receipt, { data: hostile })).texts.html).not.toContain('javascript:');
});

let opened: Promise<Browser> | undefined;
const browser = () => (opened ??= launchChromium());
afterAll(async () => (await opened)?.close());
