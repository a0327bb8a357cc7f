/** Copies that share their links but for a code say what copies with links of their own say, in lines as good. */
import { fc } from '../../support/property.ts';
import { expect, test } from 'vitest';
import { compileMessage } from '../../../src/domain/content/compile-message.ts';
import type { CompiledMessage, RecipientLinks } from '../../../src/domain/content/message.ts';
import { linkSignerOf } from '../../../src/domain/tracking/link-signer.ts';
import { testInstallation } from '../../support/test-context.ts';
import { messageSource, NOW, recipient } from './message-factory.ts';
import { recipientOfCampaign } from '../../../src/domain/tracking/tracking.ts';
import { parseEmail } from './parse-email.ts';

const signer = linkSignerOf(testInstallation);
const PLACES = [
  '<a href="https://example.org/a">a</a>',
  '<a href=https://example.org/b?x=1&amp;y=2>b</a> ',
  '<a href="https://example.org/a">again</a>\n',
  '<a href="https://example.org/{FIRST_NAME}">own</a>',
  '<a href="https://example.org/{CITY}/{EMAIL}">{CITY}</a>',
  '<a href="{UNSUBSCRIBE_URL}">stop</a>',
  "<a href='{WEB_VIEW_URL}'>page</a>",
  '<p>{UPDATE_PROFILE_URL}</p>',
  '<a href="https://example.net/?back={UNSUBSCRIBE_URL}">both</a>',
  '<a href="mailto:a@example.org">mail</a>',
  '{FIRST_NAME}',
  '.',
  '\n.\n',
  'ö'.repeat(20),
  'A sentence that fills a line, more or less. ',
];

/** The same links, each asked for by itself. */
function alone(links: RecipientLinks): RecipientLinks {
  return {
    click: (no, url) => links.click(no, url),
    open: () => links.open(),
    unsubscribe: () => links.unsubscribe(),
    webView: () => links.webView(),
    updateProfile: () => links.updateProfile(),
  };
}

/** Text in which every link of ours is what it says. */
function read(text = ''): string {
  return text.replace(
    /https?:\/\/(mail\.test|t\.example)\/(c|o|u|view|profile)\/([\w.-]+)/g,
    (_link, host: string, path: string, token: string) => {
      const kinds = { o: 'open', u: 'unsubscribe', view: 'webView', profile: 'updateProfile' } as const;
      const kind = path === 'c' ? undefined : kinds[path as keyof typeof kinds];
      const whole = kind === 'open' ? token.replace(/\.gif$/, '') : token;
      const says = kind === undefined ? signer.readClick(token) : signer.read(kind, whole);
      expect(says, token).toBeDefined();
      const values = Object.entries(says ?? {}).map(([name, value]) => `${name}=${String(value)}`);
      return `[${host} ${path} ${values.join(' ')}]`;
    },
  );
}

async function filledBy(message: CompiledMessage, links: RecipientLinks) {
  const { content } = await message.fill(recipient({ FIRST_NAME: 'Zoë', CITY: 'Łódź & more' }, { links }));
  const raw = content.toString('latin1');
  // Behind a code no line begins with a dot, which would have to be stuffed.
  expect(raw).not.toMatch(/^[\w-]{30,74}=\r\n\./m);
  const { html, text, headers } = await parseEmail(content);
  const unsubscribe = headers.filter(({ key }) => key === 'list-unsubscribe').map(({ value }) => read(value));
  return { raw, html: read(html), text: read(text), unsubscribe };
}

test('whatever stands around them, they say the same', async () => {
  const html = fc.array(fc.constantFrom(...PLACES), { minLength: 1, maxLength: 14 }).map((places) => places.join(''));
  await fc.assert(
    fc.asyncProperty(html, fc.boolean(), fc.boolean(), async (text, trackOpens, trackClicks) => {
      const message = await compileMessage(messageSource({ html: text, trackOpens, trackClicks }), { now: () => NOW });
      for (const [subscriberId, at] of [
        [5n, undefined],
        [4_444_444_444n, undefined],
        [6n, 'https://t.example'],
        [7n, undefined],
      ] as const) {
        const links = signer.forRecipient(
          recipientOfCampaign({ customerId: 1n, listId: 2n, campaignId: 3n, subscriberId }),
          at,
        );
        const { raw, ...shared } = await filledBy(message, links);
        const { raw: ownRaw, ...own } = await filledBy(message, alone(links));
        expect(shared).toEqual(own);
        expect(shared.unsubscribe).toHaveLength(1);
        expect(ownRaw).not.toBe(raw);
        for (const line of raw.split('\r\n\r\n').slice(1).join('\r\n').split('\r\n'))
          expect(line.length).toBeLessThan(77);
      }
    }),
    { numRuns: 60 },
  );
});

test('an address to reply to with letters beyond ASCII stays one header of its own', async () => {
  // The low bytes of these letters are a line end, a colon and a space.
  const replyTo = 'ji\u{159}\u{10d}\u{10a}Bcc\u{13a}\u{120}x@example.org';
  const message = await compileMessage(messageSource({ replyTo }), { now: () => NOW });
  const links = signer.forRecipient(
    recipientOfCampaign({ customerId: 1n, listId: 2n, campaignId: 3n, subscriberId: 5n }),
  );
  const head = async (of: RecipientLinks): Promise<string[]> => {
    const { content } = await message.fill(recipient({}, { links: of }));
    return (
      content
        .toString()
        .split('\r\nList-Unsubscribe:')[0]
        ?.split(/[\r\n]+/) ?? []
    );
  };
  expect(await head(links)).toContain(`Reply-To: ${replyTo}`);
  expect(await head(links)).toEqual(await head(alone(links)));
});
