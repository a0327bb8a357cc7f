/**
 * The SQL in the sources, found by the parser: which file has which text, and which tables a text writes. A test
 * (test/architecture/sql-homes.test.ts) checks where SQL may stand; docs/tables.md is made from the same data.
 */
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parseSync, Visitor } from 'oxc-parser';

const ROOT = path.resolve(import.meta.dirname, '../..');
/** The database module itself: pool, migrations, embedded server. Its statements are not about nouns. */
const FREE = /^src\/(db|generated)\//;

/** A statement or a fragment; each value in it is a `$`. */
export interface SqlText {
  readonly path: string;
  readonly line: number;
  readonly text: string;
}

export interface SqlFunction {
  /** With its schema. */
  readonly name: string;
  readonly body: string;
}

const VERB = /^\s*(SELECT|WITH|INSERT INTO|UPDATE|DELETE FROM|MERGE INTO|TRUNCATE|COPY|LOCK|LISTEN|NOTIFY|SET)\s/;
const WRITE =
  /\b(?:INSERT\s+INTO|DELETE\s+FROM(?:\s+ONLY)?|MERGE\s+INTO|TRUNCATE(?:\s+TABLE)?|COPY|(?<!\b(?:DO|FOR|KEY)\s+)UPDATE(?:\s+ONLY)?)\s+((?:"?\w+"?\.)?"?\w+"?|\$)/gi;
const LOCK = /\bFOR\s+(?:NO\s+KEY\s+)?UPDATE\b|\bFOR\s+(?:KEY\s+)?SHARE\b|\bpg_(?:try_)?advisory_/i;

/** Every SQL text in the product: templates with the tag `sql`, and other texts that begin like a statement. */
export function readSqlTexts(): SqlText[] {
  return globSync('{src,plugins}/**/*.ts', { cwd: ROOT })
    .map((file) => file.replaceAll(path.sep, '/'))
    .filter((file) => !FREE.test(file))
    .toSorted()
    .flatMap((file) => sqlTextsIn(file, readFileSync(path.join(ROOT, file), 'utf8')));
}

export function sqlTextsIn(file: string, source: string): SqlText[] {
  // Nearly all files have none and need not be parsed.
  if (!/\bsql`|['`]\s*[A-Z]{3}/.test(source)) return [];
  const found: SqlText[] = [];
  const marked = new Set<number>();
  const add = (start: number, text: string) =>
    void found.push({ path: file, line: source.slice(0, start).split('\n').length, text });
  new Visitor({
    TaggedTemplateExpression({ tag, quasi, start }) {
      if (tag.type !== 'Identifier' || tag.name !== 'sql') return;
      marked.add(quasi.start);
      add(start, textOf(quasi.quasis));
    },
    TemplateLiteral({ quasis, start }) {
      const text = textOf(quasis);
      if (!marked.has(start) && VERB.test(text)) add(start, text);
    },
    Literal({ value, start }) {
      if (typeof value === 'string' && VERB.test(value)) add(start, value);
    },
  }).visit(parseSync(file, source).program);
  return found;
}

function textOf(pieces: readonly { readonly value: { readonly raw: string } }[]): string {
  return pieces.map(({ value }) => value.raw).join('$');
}

/** Names of what it inserts into, updates or deletes from; a table that is a value is `$`. */
export function tablesWritten(text: string): string[] {
  const names = [...text.replaceAll(/--.*$/gm, '').matchAll(WRITE)].map(([, name = '']) =>
    name.replaceAll('"', '').replace(/^public\./, ''),
  );
  return [...new Set(names)];
}

export function takesLocks(text: string): boolean {
  return LOCK.test(text);
}

/** The functions that write tables, directly or through others. */
export function writingFunctions(functions: readonly SqlFunction[]): Set<string> {
  const writing = new Set(functions.filter(({ body }) => tablesWritten(body).length > 0).map(({ name }) => name));
  for (let before = -1; before < writing.size;) {
    before = writing.size;
    for (const { name, body } of functions)
      if (functionsCalled(body).some((other) => writing.has(other))) writing.add(name);
  }
  return writing;
}

/** Functions of the schema `hot` that it calls, with their schema. */
export function functionsCalled(text: string): string[] {
  return [...text.matchAll(/\bhot\.\w+(?=\s*\()/g)].map(([name]) => name);
}

/** Tables of the migrations, with their schema unless that is `public`. */
export function tablesMade(script: string): string[] {
  const made = script.matchAll(/^CREATE (?:UNLOGGED )?TABLE (?:IF NOT EXISTS )?((?:"?\w+"?\.)?"?\w+"?)/gm);
  return [...made].map(([, name = '']) => name.replaceAll('"', '').replace(/^public\./, ''));
}

/** `src/domain/audience/imports/x.ts` is of `domain/audience`, `src/inbox/x.ts` of `inbox`. */
export function ownerOf(file: string): string {
  const [, first = '', second = ''] = file.split('/');
  return first === 'domain' ? `domain/${second}` : first;
}
