/** Data that comes with a mail: read by Liquid, escaped by its place, and never more than texts and figures. */
import { expect, test } from 'vitest';
import { mailData, type MailData } from '../../../src/domain/content/mail-data.ts';
import { compileMessage } from '../../../src/domain/content/compile-message.ts';
import { checkInput } from '../../../src/lib/text.ts';
import { messageSource, recipient } from './message-factory.ts';

async function shown(html: string, data: MailData, payload?: MailData): Promise<string> {
  const message = await compileMessage(messageSource({ kind: 'transactional', html }));
  const { html: filled = '' } = await message.texts({ ...recipient(), data, payload });
  return filled;
}

test('lists, figures and what is within are read; what is missing is empty', async () => {
  const html =
    '{% for item in data.items %}[{{ item.name }} {{ item.price | times: 2 }}]{% endfor %}{{ data.a.b }}{{ payload.id }}{{ data.none.of.it }}';
  const data = { items: [{ name: 'x', price: 1.5 }, { name: 'y' }], a: { b: true } };
  expect(await shown(html, data, { id: 9 })).toBe('[x 3][y 0]true9');
  expect(await shown('{{ data.items.size }}|{{ data.items | map: "name" | join: "," }}', data)).toBe('2|x,y');
  expect(await shown('{% if data.gone %}a{% else %}b{% endif %}{{ payload.x.y }}', {})).toBe('b');
});

test('values cannot become html, an address of script, or our own marks', async () => {
  const hostile = '<img src=x onerror=alert(1)>\ufdd00\ufdd1{EMAIL}{{ 1 | plus: 1 }}';
  const text = await shown('<p title="{{ data.x }}">{{ data.x }}</p>', { x: hostile });
  expect(text).not.toContain('<img');
  expect(text).not.toMatch(/[\ufdd0-\ufdef]/);
  expect(text).toContain('{EMAIL}{{ 1 | plus: 1 }}');
  // A mark of ours, as the author's merge tag is one while the message is composed.
  const marked = { x: '\ufdd00\ufdd1', list: ['\ufdd00\ufdd1', { y: '\ufdd00\ufdd1' }] };
  expect(await shown('{EMAIL}|{{ data.x }}|{{ data.list | first }}|{{ data.list[1].y }}', marked)).toBe(
    'ada@example.com|0|0|0',
  );
  expect(await shown('<a href="{{ data.x }}">y</a>', { x: 'javascript:alert(1)' })).not.toContain('javascript:');
  expect(await shown('{{ data }}{{ data.o }}', { o: { secret: 'x' } })).toBe('');
});

test('nothing is inherited', async () => {
  const data: MailData = JSON.parse('{"__proto__": {"x": "own"}, "list": [1]}');
  expect(await shown('{{ data.constructor }}{{ data.toString }}{{ data.list.constructor.name }}', data)).toBe('');
  expect(await shown('{{ data.x }}', data)).toBe('');
});

test('too much, too deep and what is no object is refused', () => {
  const faultOf = (value: unknown) => checkInput(mailData, value).errors;
  expect(faultOf({ a: [1, 'x', null, { b: false }] })).toBeUndefined();
  for (const value of [null, 'x', 1, [1], undefined]) expect(faultOf(value)).toBeDefined();
  const deep = (levels: number): unknown => (levels === 0 ? 'x' : { in: deep(levels - 1) });
  expect(faultOf(deep(8))).toBeUndefined();
  expect(faultOf(deep(9))).toBeDefined();
  expect(faultOf({ x: 'x'.repeat(65_536) })).toBeDefined();
  expect(faultOf({ x: 'ö'.repeat(32_700) })).toBeUndefined();
});
