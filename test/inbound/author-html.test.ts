/** Html of customers keeps the address of its page from other hosts: nothing in it overrules `no-referrer`. */
import { expect, test } from 'vitest';
import { linksInto } from '../../src/inbound/author-html.ts';

const HIDDEN = [
  '<img src="http://p.example/1" referrerpolicy="unsafe-url">',
  "<img alt='x'REFERRERPOLICY\n=\t'unsafe-url' src=http://p.example/2>",
  '<img/referrerPolicy=unsafe-url src=http://p.example/3>',
  '<img alt=""referrerpolicy=unsafe-url>',
  '<p title="<a referrerpolicy=unsafe-url">',
  '<iframe srcdoc="<img &#114;eferrerpolicy=unsafe-url src=http://p.example/4>"></iframe>',
  '<style>p { background: url("http://p.example/5" referrer-policy(unsafe-url)) }</style>',
];

test.each(HIDDEN)('an attribute loses its effect: %s', async (html) => {
  expect(await linksInto('_blank', html)).not.toMatch(/[\s/"'](referrerpolicy|srcdoc)\s*=|referrer-policy\(/i);
});

test.each([
  '<meta name="referrer" content="unsafe-url">',
  '<META content=always NAME=referrer>',
  '<meta/name=&#114;eferrer content=unsafe-url>',
  '<meta\nname\n=\n"referrer">',
  '<meta name="viewport-fit" name="referrer">',
])('a meta element has another name first: %s', async (html) => {
  expect(await linksInto('_blank', html)).toMatch(/^<meta name=other[\s/>]/i);
});

test.each([
  '<meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark">',
  '<p>The attribute referrerpolicy</p><q cite="http://shop.example/?referrerpolicy=1&srcdoc=2">go</q><metadata>',
])('the rest stays as it is: %s', async (html) => {
  expect(await linksInto('_blank', html)).toBe(html);
});

test.each(['<meta ', ' referrerpolicy ', '"srcdoc\n', '<meta name=', ' '])(
  '4 MB of %j take linear time',
  async (part) => {
    const html = part.repeat(Math.ceil(4_194_304 / part.length));
    expect((await linksInto('_blank', html)).length).toBeGreaterThanOrEqual(html.length);
  },
);

test('a link to a place stays in its frame, also behind elements that were changed', async () => {
  const html = `${'<meta name="x">'.repeat(9)}<a href="#top">up</a><a href="http://shop.example/">on</a>`;
  const page = await linksInto('_blank', html);
  expect(page).toContain('<a target="_self" href="#top">');
  expect(page).toContain('<a target="_blank" href="http://shop.example/">');
});

test('other requests run while the links of 4 MB are changed', async () => {
  const links = Math.floor(4_194_304 / '<a '.length);
  let rounds = 0;
  const others = setInterval(() => (rounds += 1), 0);
  const page = await linksInto('_top', '<a '.repeat(links));
  clearInterval(others);
  expect(rounds).toBeGreaterThan(10);
  expect(page).toBe('<a target="_top" '.repeat(links));
});
