/** Which addresses are tracked, what of the html may change, and where recipients' values go in an address. */
import { expect, test } from 'vitest';
import { compileMessage } from '../../../src/domain/content/compile-message.ts';
import { links, messageSource, recipient, roundTrip } from './message-factory.ts';

// With both, nothing is added at the end.
const END = '<a href="{UNSUBSCRIBE_URL}">x</a> {CONTACT_ADDRESS_1}, {CONTACT_CITY}';

async function html(body: string, fields = {}): Promise<string> {
  const { email } = await roundTrip({ html: body + END }, fields);
  return email.html.replace('<a href="https://t.example.net/u/abc">x</a> Hauptstraße 1, Berlin', '');
}

test('tracks web links of a and area, decoded, and nothing else', async () => {
  const { message } = await roundTrip({
    html:
      '<a href="https://a.test/?x=1&amp;y=2">1</a><area href=\'HTTP://b.test\'><A HREF=https://c.test/>3</A><a href="https://a.test/?x=1&#38;y=2">again</a>' +
      '<a href="mailto:a@b.test">m</a><a href="tel:1">t</a><a href="#x">h</a><a href="/x">r</a><a href="javascript:x">j</a><a>n</a><a href>e</a>' +
      '<link href="https://l.test"><img src="https://i.test"><!-- <a href="https://comment.test"> --><script>"<a href=https://s.test>"</script>' +
      END,
  });
  expect(message.links).toEqual([
    { no: 0, url: 'https://a.test/?x=1&y=2' },
    { no: 1, url: 'HTTP://b.test' },
    { no: 2, url: 'https://c.test/' },
  ]);
});

test('tracks what Outlook alone sees, and leaves the rest of the comment alone', async () => {
  const button = (href: string) =>
    `<!--[if gte mso 9]><v:roundrect href="${href}" arcsize='8%'>Buy {CITY}</v:roundrect><a HREF=${href}>b</a><![endif]--><!--[if !mso]><!--><a href="${href}">c</a><!--<![endif]-->`;
  const body = `<!--[if mso]><table><![endif]-->é${button('https://a.test/?x=1&amp;y={CITY}')}<!--[if mso]></table><![endif]-->`;
  const click = 'https://t.example.net/c/0?u=https%3A%2F%2Fa.test%2F%3Fx%3D1%26y%3DA%2526B';
  const expected = body
    .replace('HREF=https://a.test/?x=1&amp;y={CITY}', `HREF="${click}"`)
    .replaceAll('https://a.test/?x=1&amp;y={CITY}', click)
    .replace('{CITY}', 'A&amp;B');
  expect(await html(body, { CITY: 'A&B' })).toBe(expected);
  const hostile = '<!--[if mso]><a href="{CITY}">1</a><![endif]-->';
  expect(await html(hostile, { CITY: 'javascript:alert(1)' })).toBe('<!--[if mso]><a href="#">1</a><![endif]-->');
  expect(await html(hostile, { CITY: '"--><script>' })).not.toContain('--><script>');
});

test.each([
  '{% if subscriber.city != "" %}{{ subscriber.city }}{% else %}https://d.test/{% endif %}',
  '{% unless subscriber.city != "" %}https://d.test/{% else %} {{ subscriber.city }}{% endunless %}',
  '{% case subscriber.city %}{% when "" %}https://d.test/{% else %}{{ subscriber.city }}{% endcase %}',
  '{% assign to = subscriber.city | default: "https://d.test/" %}{{ to }}',
  '{% echo subscriber.city | default: "https://d.test/" %}',
])('a value that is the whole address in %s', async (address) => {
  const linkFor = async (city: string) =>
    (await html(`<a href="${address}">1</a>`, { CITY: city })).replace(/ (?=http)/, '');
  expect(await linkFor('https://a.test/b?c=d&e=f')).toBe('<a href="https://a.test/b?c=d&amp;e=f">1</a>');
  expect(await linkFor('')).toBe('<a href="https://d.test/">1</a>');
  expect(await linkFor('javascript:alert(1)')).toMatch(/^<a href="\s*#">1<.a>$/);
});

test.each([
  ['{% if true %}https://d.test/{% endif %}{{ subscriber.city }}', 'https://d.test/a%3Ab'],
  ['/x/{% if false %}y{% else %}{{ subscriber.city }}{% endif %}', '/x/a%3Ab'],
  ['{% if true %}{{ subscriber.city }}{% else %}{% endif %}{{ subscriber.city }}', '#a%3Ab'],
  ['{% for n in (1..2) %}{{ subscriber.city }}{% endfor %}', 'a%3Aba%3Ab'],
  ['x{% echo subscriber.city %}', 'xa%3Ab'],
])('a value that is a part of the address in %s', async (address, expected) => {
  expect(await html(`<a href="${address}">1</a>`, { CITY: 'a:b' })).toBe(`<a href="${expected}">1</a>`);
});

test('30,000 comments that Outlook would open in each other take one pass', async () => {
  const nested = '<!--[if mso]>'.repeat(30_000);
  expect((await compileMessage(messageSource({ html: `${END}${nested}<![endif]-->` }))).links).toEqual([]);
});

test('an address with signs that end it in a text is one link in both parts', async () => {
  const { message, email } = await roundTrip({
    html: `<a href="https://a.test/a b?tags[]=1&amp;q='x|y'&quot;">1</a> <a href="https://[::1]/{FOO}">2</a>${END}`,
  });
  expect(message.links.map(({ url }) => url)).toEqual([
    'https://a.test/a%20b?tags%5B%5D=1&q=%27x%7Cy%27%22',
    'https://[::1]/%7BFOO%7D',
  ]);
  expect(email.text).toContain(`1 [${links.click(0, message.links[0]?.url ?? '')}]`);
});

test('leaves every other byte of the html alone', async () => {
  const body =
    "<!DOCTYPE html>\n<P  Class=x  data-y='\"'>\t&nbsp;&copy;&unknown; <br/><unclosed <b>é</i>\n<![if mso]><style>a{b:c}</style>";
  expect(await html(body)).toBe(body);
  expect(await html(`${body}<a  TITLE='t' href = "https://a.test/" >z</a>`)).toBe(
    `${body}<a  TITLE='t' href = "https://t.example.net/c/0?u=https%3A%2F%2Fa.test%2F" >z</a>`,
  );
});

test('hands the signer the address with values percent-encoded', async () => {
  const seen: string[] = [];
  const source =
    '<a href="https://a.test/{CITY}?e={EMAIL}&amp;n={{ subscriber.first_name }}">1</a><a href="https://a.test/?{% if subscriber.city %}c={CITY}{% endif %}">2</a>';
  const signer = { ...links, click: (no: number, url: string) => `https://t.test/${no}/${seen.push(url)}` };
  const fields = { CITY: 'São Paulo/&"', FIRST_NAME: "A&B '<" };
  const message = await compileMessage(messageSource({ html: source, plain: '{UNSUBSCRIBE_URL}' }));
  await message.texts(recipient(fields, { links: signer }));
  expect(seen).toEqual([
    'https://a.test/S%C3%A3o%20Paulo%2F%26%22?e=ada%40example.com&n=A%26B%20%27%3C',
    'https://a.test/?c=S%C3%A3o%20Paulo%2F%26%22',
  ]);
});

test('a link inside a loop or condition is tracked when it is shown', async () => {
  const body =
    '{% for n in (1..2) %}<a href="https://a.test/{{ n }}">{{ n }}</a>{% endfor %}{% if subscriber.city == "x" %}<a href="https://b.test">{CITY}</a>{% endif %}';
  const click = (no: number, url: string) => `https://t.example.net/c/${no}?u=${encodeURIComponent(url)}`;
  const loop = `<a href="${click(0, 'https://a.test/1')}">1</a><a href="${click(0, 'https://a.test/2')}">2</a>`;
  expect(await html(body)).toBe(loop);
  expect(await html(body, { CITY: 'x' })).toBe(`${loop}<a href="${click(1, 'https://b.test')}">x</a>`);
});

test('tracks bare addresses of plain text, without what trails', async () => {
  const plain =
    'See https://a.test/x_(y), (https://b.test/z) or {% if true %}https://c.test{% endif %}. [https://d.test/]\n{UNSUBSCRIBE_URL} Hauptstraße 1, Berlin';
  const { message, email } = await roundTrip({ html: null, plain });
  expect(message.links.map(({ url }) => url)).toEqual([
    'https://a.test/x_(y)',
    'https://b.test/z',
    'https://c.test',
    'https://d.test/',
  ]);
  const plainClick = (no: number, url: string) => links.click(no, url);
  expect(email.text).toBe(
    `See ${plainClick(0, 'https://a.test/x_(y)')}, (${plainClick(1, 'https://b.test/z')}) or ${plainClick(2, 'https://c.test')}. [${plainClick(3, 'https://d.test/')}]\nhttps://t.example.net/u/abc Hauptstraße 1, Berlin`,
  );
});

test('nothing is rewritten when clicks are not tracked', async () => {
  const body = '<a href="https://a.test/?e={EMAIL}">1</a>';
  const { message, email } = await roundTrip({ html: body + END, trackClicks: false });
  expect(message.links).toEqual([]);
  expect(email.html).toContain('<a href="https://a.test/?e=ada%40example.com">1</a>');
});

test('a value cannot leave its place in the html', async () => {
  const evil = { CITY: `x onerror=alert(1) "'><script>`, FIRST_NAME: ' java\tscript:alert(1)' };
  expect(await html('<p title={CITY} {CITY}=1>', evil)).toBe(
    '<p title="x onerror=alert(1) &quot;&#39;&gt;&lt;script&gt;" xonerroralert1script=1>',
  );
  expect(await html('<p title={{ CITY }}>', evil)).toBe('<p title="x onerror=alert(1) &quot;&#39;&gt;&lt;script&gt;">');
  expect(await html('<a href="{FIRST_NAME}">1</a><a href="{{ FIRST_NAME }}">2</a>', evil)).toBe(
    '<a href="#">1</a><a href="#">2</a>',
  );
  expect(await html('<a href="{CITY}">1</a>', { CITY: 'https://own.test/?a=1&b=2' })).toBe(
    '<a href="https://own.test/?a=1&amp;b=2">1</a>',
  );
});

test('captured html stays html, values in it are escaped once', async () => {
  const body = '{% capture x %}<b>{{ CITY }}</b>{% endcapture %}{{ x }}{{ CITY | escape }}{{ "a\nb" | newline_to_br }}';
  expect(await html(body, { CITY: 'A&B' })).toBe('<b>A&amp;B</b>A&amp;Ba<br>\nb');
});
