/** The GraphQL reference names everything that the schema has, and every link in it leads somewhere. */
import { expect, test } from 'vitest';
import { buildSchema } from '../../src/schema/build-schema.ts';
import { graphqlReference } from '../../src/schema/reference-page.ts';

const schema = buildSchema();
const page = graphqlReference(schema, 'Mailwright');

test('every operation and type has its place, and every link leads to one', () => {
  const places = new Set([...page.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id));
  const links = [...page.matchAll(/ href="#([^"]+)"/g)].map(([, id]) => id);
  expect(links.filter((id) => !places.has(id))).toEqual([]);
  const types = Object.keys(schema.getTypeMap()).filter((name) => !/^(__|Query$|Mutation$|Subscription$)/.test(name));
  expect(types.filter((name) => !places.has(name))).toEqual([]);
  const queries = Object.keys(schema.getQueryType()?.getFields() ?? {});
  expect(queries.filter((name) => !places.has(`Queries.${name}`))).toEqual([]);
});

test('it says which right an operation needs, and holds no script', () => {
  expect(page).toContain('Needs the scope `lists:read`.');
  expect(page).toContain('Needs the token of an administrator with the scope `admin`.');
  expect(page).not.toContain('<script');
});
