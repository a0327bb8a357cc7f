/**
 * One name per field: verbs of the domain and the GraphQL schema name fields in camelCase, and so do their errors. Only the REST
 * facade knows the other names.
 */
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { buildSchema, isEnumType, isInputObjectType, isInterfaceType, isObjectType } from 'graphql';
import { parseSync, Visitor, type Node } from 'oxc-parser';
import { expect, it } from 'vitest';

const ROOT = path.resolve(import.meta.dirname, '../..');
const SNAKE_CASE = /[a-z0-9]_[a-z0-9]/;
/** Names of a plan's options, and of a warm-up's numbers, are keys of stored data; payloads of webhooks are specified (D42). */
const KEYS_OF_DATA = [
  'src/domain/billing/plans/plan-options.ts',
  'src/domain/sending/routing/warm-up.ts',
  'src/domain/webhooks/webhook-events.ts',
  'src/domain/webhooks/customer-webhook-events.ts',
];
/** What checks of fields are made with: `z`, and the schemas of lib/text.ts. */
const CHECKS = new Set(['z', 'singleLine', 'optionalLine', 'multiLine', 'emailAddress', 'flag']);

/** Of `z.string().max(5)` it is `z`, of `given(singleLine(5))` that of its argument. */
function isCheck(value: Node | undefined): boolean {
  if (value?.type === 'Identifier') return CHECKS.has(value.name);
  if (value?.type === 'MemberExpression') return isCheck(value.object);
  if (value?.type !== 'CallExpression') return false;
  const [argument] = value.arguments;
  return isCheck(value.callee) || (argument?.type === 'CallExpression' && isCheck(argument));
}

function checkedFields(file: string): string[] {
  const names: string[] = [];
  new Visitor({
    Property({ key, value }) {
      const name = key.type === 'Identifier' ? key.name : key.type === 'Literal' ? String(key.value) : '';
      if (isCheck(value)) names.push(name);
    },
  }).visit(parseSync(file, readFileSync(path.join(ROOT, file), 'utf8')).program);
  return names;
}

it('the domain checks fields under camelCase names', () => {
  const files = globSync('src/domain/**/*.ts', { cwd: ROOT }).filter((file) => !KEYS_OF_DATA.includes(file));
  const fields = files.flatMap((file) => checkedFields(file).map((name) => ({ file, name })));
  expect(fields.length).toBeGreaterThan(100);
  expect(fields.filter(({ name }) => SNAKE_CASE.test(name))).toEqual([]);
});

it('the schema names fields, arguments and inputs in camelCase', () => {
  const schema = buildSchema(readFileSync(path.join(ROOT, 'schema.graphql'), 'utf8'));
  const names = Object.values(schema.getTypeMap()).flatMap((type) => {
    if (type.name.startsWith('__') || isEnumType(type)) return [];
    if (isInputObjectType(type)) return Object.keys(type.getFields());
    if (!isObjectType(type) && !isInterfaceType(type)) return [];
    return Object.values(type.getFields()).flatMap((field) => [field.name, ...field.args.map(({ name }) => name)]);
  });
  expect(names.length).toBeGreaterThan(500);
  expect(names.filter((name) => SNAKE_CASE.test(name))).toEqual([]);
});
