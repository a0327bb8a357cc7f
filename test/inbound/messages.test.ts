/** The message files of the public pages are complete and alike, and no page has words of its own. */
import { readFileSync, globSync } from 'node:fs';
import { IntlMessageFormat } from 'intl-messageformat';
import { parseSync, Visitor } from 'oxc-parser';
import { describe, expect, test } from 'vitest';
import { LANGUAGES, type LanguageCode } from '../../src/domain/accounts/languages.ts';
import { MESSAGES, wordsIn } from '../../src/inbound/words.ts';

type Ast = ReturnType<IntlMessageFormat['getAst']>;
type Part = Ast[number];

/** Kinds of parts in the parser's tree. */
const [LITERAL, PLURAL] = [0, 6];

function kindOf({ type }: Part): number {
  return type;
}

function partsOf(ast: Ast): Part[] {
  return ast.flatMap((part) =>
    'options' in part ? [part, ...Object.values(part.options).flatMap(({ value }) => partsOf(value))] : [part],
  );
}

function parsed(text: string, language: LanguageCode): Part[] {
  return partsOf(new IntlMessageFormat(text, language, undefined, { ignoreTag: true }).getAst());
}

function argumentsOf(text: string, language: LanguageCode): string[] {
  const named = parsed(text, language).flatMap((part) =>
    kindOf(part) !== LITERAL && 'value' in part ? [`${part.type} ${part.value}`] : [],
  );
  return [...new Set(named)].sort();
}

const entriesOf = (language: LanguageCode) => Object.entries(MESSAGES[language]);

describe.each(LANGUAGES.map(({ code }) => code))('the messages in %s', (language) => {
  test('have the keys of the English file, in its order', () => {
    expect(Object.keys(MESSAGES[language])).toEqual(Object.keys(MESSAGES.en));
  });

  test('have the arguments of the English ones', () => {
    const english = new Map(entriesOf('en').map(([key, text]) => [key, argumentsOf(text, 'en')]));
    for (const [key, text] of entriesOf(language))
      expect([key, argumentsOf(text, language)]).toEqual([key, english.get(key)]);
  });

  test('have all plural forms that the language needs', () => {
    const rules = new Intl.PluralRules(language);
    const needed = [...new Set(Array.from({ length: 201 }, (_, count) => rules.select(count)))].sort();
    for (const [key, text] of entriesOf(language))
      for (const part of parsed(text, language))
        if (kindOf(part) === PLURAL && 'options' in part)
          expect([key, Object.keys(part.options)]).toEqual([key, expect.arrayContaining(needed)]);
  });

  test('are translated, and none is empty or has white space around it', () => {
    for (const [key, text] of entriesOf(language))
      expect([key, text.trim() === text && text !== '']).toEqual([key, true]);
    if (language === 'en') return;
    const english = new Map(entriesOf('en'));
    const same = entriesOf(language).filter(([key, text]) => english.get(key) === text);
    // "Total" is a word of Spanish and French, too.
    expect(same.map(([key]) => key).filter((key) => key !== 'checkout.total')).toEqual([]);
  });
});

test('names in another direction are isolated, and others are left as they are', () => {
  expect(wordsIn('en').text('signUp.title', { list: 'Friends' })).toBe('Subscribe to Friends');
  expect(wordsIn('en').text('signUp.title', { list: 'أخبار' })).toBe('Subscribe to \u2068أخبار\u2069');
  expect(wordsIn('ar').text('signUp.title', { list: 'Friends' })).toBe('الاشتراك في \u2068Friends\u2069');
});

test('values are not read as messages', () => {
  expect(wordsIn('en').text('signUp.title', { list: "{email} '{x}' <b>" })).toBe("Subscribe to {email} '{x}' <b>");
});

/** A template of attributes only. */
const ATTRIBUTES = /^(?:\s*(?:[\w-]+="[^"]*"|required|selected|checked)|\s)*$/;

/** Letters that a reader would see: between tags, or in an attribute that is shown or read aloud. */
function wordsInHtml(template: string): string[] {
  if (ATTRIBUTES.test(template)) return [];
  const attributes = [...template.matchAll(/\b(?:title|alt|placeholder|aria-label)="([^"]*)"/g)].map(
    ([, text]) => text,
  );
  const texts = template.replace(/<style>[^]*?<\/style>|<[^>]*>?/g, '\n').split('\n');
  return [...texts, ...attributes]
    .filter((text) => text !== undefined && /\p{L}/u.test(text))
    .map((text) => String(text).trim());
}

/** Words in the templates and titles of a source file. */
function wordsInCode(file: string, source: string): string[] {
  const found: string[] = [];
  new Visitor({
    TaggedTemplateExpression({ tag, quasi }) {
      if (tag.type !== 'Identifier' || tag.name !== 'html') return;
      // A value stands for no letters; two spaces, so that it cannot complete a tag's name.
      found.push(...wordsInHtml(quasi.quasis.map(({ value }) => value.cooked ?? '').join('  ')));
    },
    Property({ key, value }) {
      const isTitle = key.type === 'Identifier' && ['title', 'label'].includes(key.name);
      if (isTitle && (value.type === 'Literal' || value.type === 'TemplateLiteral')) found.push(`${file}: a title`);
    },
  }).visit(parseSync(file, source).program);
  return found;
}

test('no page has words of its own', () => {
  const files = globSync('src/inbound/**/*.ts');
  expect(files.length).toBeGreaterThan(20);
  const found = files.flatMap((file) =>
    wordsInCode(file, readFileSync(file, 'utf8')).map((words) => `${file}: ${words}`),
  );
  expect(found).toEqual([]);
});

test('the search finds words between tags, in attributes and in titles', () => {
  const source = 'const page = { title: "Hi", body: html`<p class="x">${a} now</p><img alt="A dog">` };';
  expect(wordsInCode('x.ts', source)).toEqual(['x.ts: a title', 'now', 'A dog']);
});
