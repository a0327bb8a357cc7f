/** F1 and F2: what a hostile author can write into a template reads nothing of the machine, and does not hang it. */
import fs from 'node:fs';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { ValidationError } from '../../../src/lib/errors.ts';
import { compileMessage } from '../../../src/domain/content/compile-message.ts';
import type { CompiledMessage } from '../../../src/domain/content/message.ts';
import { messageSource, recipient } from './message-factory.ts';

const CANARY = 'canary-7c1f0b';
const FILES = [
  'package.json',
  './package.json',
  '../package.json',
  '/etc/passwd',
  '/proc/self/environ',
  '.env',
  'C:\\boot.ini',
  '%2e%2e/package.json',
  'file:///etc/passwd',
  'src/main.ts',
  'x',
];
const READERS = [
  'include',
  'render',
  'layout',
  'include_relative',
  'import',
  'extends',
  'require',
  'block',
  'section',
  'sections',
];
const ROOTS = [
  'subscriber',
  'campaign',
  'list',
  'contact',
  'FIRST_NAME',
  '""',
  'this',
  'self',
  'global',
  'globalThis',
  'process',
  'window',
  'env',
  'settings',
  'liquid',
  'context',
  'opts',
  'options',
  'environments',
  'scopes',
];
const PROPERTIES = [
  '.constructor',
  '.__proto__',
  '["__proto__"]',
  '.constructor.constructor',
  '.prototype',
  '.toString',
  '.valueOf',
  '.hasOwnProperty',
  '["constructor"]["constructor"]',
  '.__defineGetter__',
  '.env',
  '.mainModule.require',
  '.env.MAILWRIGHT_CANARY',
  '.__lookupGetter__',
];
const CORPUS = [
  ...READERS.flatMap((tag) => FILES.map((file) => `{% ${tag} '${file}' %}`)),
  ...READERS.map((tag) => `{% assign f = '/etc/passwd' %}{% ${tag} f %}`),
  ...['render', 'include'].flatMap((tag) => [
    `{% liquid ${tag} '/etc/passwd' %}`,
    `{%- ${tag} "/etc/passwd" for list as x -%}`,
    `{% ${tag} 'a', b: c %}`,
  ]),
  ...ROOTS.flatMap((root) => PROPERTIES.map((property) => `{{ ${root}${property} }}`)),
  ...PROPERTIES.map(
    (property) =>
      `{% assign x = subscriber${property} %}{{ x | json }}{{ x | inspect }}{% for y in x %}{{ y }}{% endfor %}`,
  ),
  ...['raw', 'file', 'read', 'exec', 'require', 'fetch', 'constructor', '__proto__', 'toString', 'hasOwnProperty'].map(
    (filter) => `{{ '/etc/passwd' | ${filter} }}`,
  ),
  "{{ 'constructor' | map: 'constructor' }}",
  "{{ list | map: '__proto__' }}",
  "{{ subscriber | where: 'constructor', 'x' | json }}",
  "{{ subscriber | where_exp: 'x', 'x.constructor' }}",
  "{{ subscriber | find_exp: 'x', 'process' }}",
  "{{ 'x' | group_by_exp: 'x', 'x.constructor.name' }}",
  '{{ subscriber | sort: "__proto__" }}',
  '{% assign __proto__ = "x" %}{{ y.__proto__ }}',
  '{% capture constructor %}x{% endcapture %}{{ constructor.constructor }}',
  '{% increment __proto__ %}{{ __proto__ }}',
  '{% for i in (1..3) %}{{ forloop.constructor.constructor }}{% endfor %}',
  '{% tablerow i in (1..2) %}{{ tablerowloop.__proto__ }}{% endtablerow %}',
  '{{ forloop }}',
  '{{ block.super }}',
  '{{ subscriber | json }}',
  '{% # include "x" %}',
  '{{ "a" | date: "/etc/passwd" }}',
];

beforeAll(() => {
  process.env.MAILWRIGHT_CANARY = CANARY;
});
afterAll(() => {
  delete process.env.MAILWRIGHT_CANARY;
  vi.restoreAllMocks();
});

test(`none of ${CORPUS.length} templates reads anything`, () => {
  expect(CORPUS.length).toBeGreaterThan(150);
  const doors = (
    [
      'readFileSync',
      'readFile',
      'openSync',
      'open',
      'statSync',
      'stat',
      'existsSync',
      'realpathSync',
      'accessSync',
    ] as const
  ).map((name) => vi.spyOn(fs, name));
  for (const template of CORPUS) {
    for (const field of ['html', 'plain', 'subject'] as const) {
      const message = compiledOrRefused({
        ...(field === 'html' ? {} : { html: null, plain: 'x' }),
        [field]: `a ${template} b`,
      });
      const text = message?.fill(recipient({ FIRST_NAME: 'Ada' })).content.toString() ?? '';
      expect(text, template).not.toMatch(
        new RegExp(`${CANARY}|root:|"scripts"|native code|\\[object|function|=> `, 'i'),
      );
    }
  }
  for (const door of doors) expect(door, door.getMockName()).not.toHaveBeenCalled();
});

test('tags that read other templates do not exist, and the fault names field and line', () => {
  expect(() => compileMessage(messageSource({ html: '<p>\n\n{% include "x" %}</p>' }))).toThrow(
    expect.objectContaining({ code: 'TEMPLATE_FAULT', fields: { html: ['Line 3: tag "include" not found.'] } }),
  );
  expect(() => compileMessage(messageSource({ subject: '{{ x | nope }}' }))).toThrow(
    expect.objectContaining({ fields: { subject: ['Line 1: undefined filter: nope.'] } }),
  );
  expect(() => compileMessage(messageSource({ plain: 'a\n{% if x %}' }))).toThrow(
    expect.objectContaining({ fields: { plain: [expect.stringMatching(/^Line 2: .*not closed/)] } }),
  );
});

const LONG = 'x'.repeat(10_000);
const HANGS = [
  '{% for i in (1..1000000000) %}{% endfor %}',
  '{% for i in (1..999999) %}{% for j in (1..999999) %}{{ i }}{% endfor %}{% endfor %}',
  `{% for a in (1..900) %}{% for b in (1..900) %}${LONG}{% endfor %}{% endfor %}`,
  `{% capture a %}${LONG}{% endcapture %}${'{% capture a %}{{ a }}{{ a }}{% endcapture %}'.repeat(60)}{{ a }}`,
  `{% assign a = "${LONG}" %}${'{% assign a = a | append: a %}'.repeat(40)}{{ a }}`,
  `{% assign a = "${LONG}" %}${'{% assign a = a | replace: "x", a %}'.repeat(10)}`,
  '{% assign a = "a,b" | split: "," %}' + '{% assign a = a | concat: a %}'.repeat(40) + '{{ a | join: "-" }}',
  '{% tablerow i in (1..100000000) %}x{% endtablerow %}',
  `{{ "${'a'.repeat(50_000)}" | strip_html | split: "" | sort | reverse | uniq | join: "" | replace: "a", "${LONG}" }}`,
  '{% if true %}'.repeat(15_000),
  `${'{% for i in (1..9) %}'.repeat(12)}x${'{% endfor %}'.repeat(12)}`,
  `{{ ${'"x" | append: '.repeat(5_000)} "y" }}`,
  '{% '.repeat(80_000),
  '{{ '.repeat(80_000),
  '{{ "'.repeat(60_000),
  `<a href="${'https://x.test/{{ a }}'.repeat(10_000)}">x</a>`,
  '<a href="https://x.test">'.repeat(900) + '{{ x }}'.repeat(20_000),
  '<'.repeat(250_000) + '{{ x }}',
  '<div>'.repeat(50_000) + '{{ x }}',
];

test.each(HANGS.map((template) => [template.slice(0, 60), template]))('ends soon: %s', (_name, template) => {
  const before = process.cpuUsage();
  const message = compiledOrRefused({ html: template });
  const { user, system } = process.cpuUsage(before);
  if (message) expect(message.fill(recipient()).content.length).toBeLessThan(4_000_000);
  expect((user + system) / 1_000).toBeLessThan(1_000);
});

test('values do not become templates, and are escaped even by Liquid filters', () => {
  const values = { FIRST_NAME: '{{ 7 | times: 7 }}{EMAIL}<img>', CITY: '%3Cimg%20onerror%3D1%3E\ufdd90' };
  const html =
    '{FIRST_NAME}|{{ subscriber.first_name }}|{{ FIRST_NAME }}|{{ CITY | url_decode }}|{% echo FIRST_NAME %}|{% cycle FIRST_NAME %}|{UNSUBSCRIBE_URL}';
  const text = compileMessage(messageSource({ html })).webView(recipient(values));
  const escaped = '{{ 7 | times: 7 }}{EMAIL}&lt;img&gt;';
  expect(text).toBe(
    `${escaped}|${escaped}|${escaped}|&lt;img onerror=1&gt;0|${escaped}|${escaped}|https://t.example.net/u/abc`,
  );
});

function compiledOrRefused(source: Parameters<typeof messageSource>[0]): CompiledMessage | undefined {
  try {
    return compileMessage(messageSource(source));
  } catch (error) {
    if (error instanceof ValidationError) return undefined;
    throw error;
  }
}
