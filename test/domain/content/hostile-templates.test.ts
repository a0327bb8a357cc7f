/** F1: what a hostile author can write into a template reads nothing of the machine. */
import fs from 'node:fs';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { ValidationError } from '../../../src/lib/errors.ts';
import { compileMessage } from '../../../src/domain/content/compile-message.ts';
import { liquidContext, liquidEngine, parseLiquid, renderLiquid } from '../../../src/domain/content/liquid-engine.ts';
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

const READ = new RegExp(`${CANARY}|root:|"scripts"|native code|\\[object|function|=> `, 'i');

test(`none of ${CORPUS.length} templates reads anything, wherever it stands and however it is shown`, async () => {
  expect(CORPUS.length).toBeGreaterThan(150);
  const reader = recipient({ FIRST_NAME: 'Ada' });
  for (const field of ['html', 'plain', 'subject', 'fromName'] as const) {
    for (const kind of ['marketing', 'transactional'] as const) {
      const shown = CORPUS.map(async (template) => {
        const message = await compiledOrRefused({ kind, ...withTemplate(field, `a ${template} b`) });
        if (!message) return 'refused';
        const { subject, html, plain } = await message.texts(reader);
        const { content } = await message.fill(reader);
        return [subject, html, plain, content.toString()].join('\n');
      });
      for (const [index, text] of (await Promise.all(shown)).entries()) {
        expect(text, `${field} of ${kind}: ${CORPUS[index]}`).not.toMatch(READ);
      }
    }
  }
});

test('nor does it open a file where it could: with the environment and the files of this process', () => {
  const entryPoints = (
    ['readFileSync', 'readFile', 'openSync', 'open', 'statSync', 'stat', 'existsSync', 'realpathSync'] as const
  ).map((name) => vi.spyOn(fs, name));
  const bare: object = Object.assign(Object.create(null), { FIRST_NAME: 'Ada' });
  for (const template of CORPUS) {
    for (const isHtml of [true, false]) {
      let text = '';
      try {
        const engine = liquidEngine(isHtml);
        const templates = parseLiquid(engine, template, 'html');
        text = renderLiquid(engine, { templates, context: liquidContext(engine, bare), part: 'html' });
      } catch (error) {
        expect(error, template).toBeInstanceOf(ValidationError);
      }
      expect(text, template).not.toMatch(READ);
    }
  }
  for (const entryPoint of entryPoints) expect(entryPoint, entryPoint.getMockName()).not.toHaveBeenCalled();
});

function withTemplate(field: 'html' | 'plain' | 'subject' | 'fromName', template: string) {
  if (field === 'html') return { html: template };
  if (field === 'fromName') return { from: { name: template, email: 'n@example.org' } };
  return { html: null, plain: 'x', [field]: template };
}

test('tags that read other templates do not exist, and the fault names field and line', async () => {
  await expect(compileMessage(messageSource({ html: '<p>\n\n{% include "x" %}</p>' }))).rejects.toThrow(
    expect.objectContaining({ code: 'TEMPLATE_FAULT', fields: { html: ['Line 3: tag "include" not found.'] } }),
  );
  await expect(compileMessage(messageSource({ subject: '{{ x | nope }}' }))).rejects.toThrow(
    expect.objectContaining({ fields: { subject: ['Line 1: undefined filter: nope.'] } }),
  );
  await expect(compileMessage(messageSource({ plain: 'a\n{% if x %}' }))).rejects.toThrow(
    expect.objectContaining({ fields: { plain: [expect.stringMatching(/^Line 2: .*not closed/)] } }),
  );
});

test('values do not become templates, and are escaped even by Liquid filters', async () => {
  const values = { FIRST_NAME: '{{ 7 | times: 7 }}{EMAIL}<img>', CITY: '%3Cimg%20onerror%3D1%3E\ufdd90' };
  const html =
    '{FIRST_NAME}|{{ subscriber.first_name }}|{{ FIRST_NAME }}|{{ CITY | url_decode }}|{% echo FIRST_NAME %}|{% cycle FIRST_NAME %}|{UNSUBSCRIBE_URL}{% # contact.address_1 contact.city %}';
  const { html: text = '' } = await (await compileMessage(messageSource({ html }))).texts(recipient(values));
  const escaped = '{{ 7 | times: 7 }}{EMAIL}&lt;img&gt;';
  expect(text).toBe(
    `${escaped}|${escaped}|${escaped}|&lt;img onerror=1&gt;0|${escaped}|${escaped}|https://t.example.net/u/abc`,
  );
});

async function compiledOrRefused(source: Parameters<typeof messageSource>[0]): Promise<CompiledMessage | undefined> {
  try {
    return await compileMessage(messageSource(source));
  } catch (error) {
    if (error instanceof ValidationError) return undefined;
    throw error;
  }
}
