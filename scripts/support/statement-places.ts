/** Where the product runs statements, found by the parser. */
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parseSync, Visitor, type Expression } from 'oxc-parser';

const ROOT = path.resolve(import.meta.dirname, '../..');
const METHODS = new Set(['query', 'execute', 'readBytes', 'copy']);
/** Whatever is a `Queryable` has one of these names in the product. */
const RECEIVERS = new Set(['db', 'tx', 'database']);

/** `src/domain/x-store.ts:12`: the line on which the name of the method is. */
export function readStatementPlaces(): string[] {
  return globSync('{src,plugins}/**/*.ts', { cwd: ROOT })
    .map((file) => file.replaceAll(path.sep, '/'))
    .filter((file) => !file.startsWith('src/generated/'))
    .toSorted()
    .flatMap((file) => statementPlacesIn(file, readFileSync(path.join(ROOT, file), 'utf8')));
}

export function statementPlacesIn(file: string, source: string): string[] {
  const places: string[] = [];
  new Visitor({
    CallExpression({ callee }) {
      if (callee.type !== 'MemberExpression' || callee.property.type !== 'Identifier') return;
      if (!METHODS.has(callee.property.name) || !RECEIVERS.has(lastNameOf(callee.object))) return;
      places.push(`${file}:${source.slice(0, callee.property.start).split('\n').length}`);
    },
  }).visit(parseSync(file, source).program);
  return [...new Set(places)];
}

function lastNameOf(expression: Expression): string {
  if (expression.type === 'Identifier') return expression.name;
  if (expression.type !== 'MemberExpression' || expression.property.type !== 'Identifier') return '';
  return expression.property.name;
}
