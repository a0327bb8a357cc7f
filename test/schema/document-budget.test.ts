/** What we ask ourselves stays within half of what anybody may ask (hard case D2), so that the limits hurt nobody honest. */
import { Kind, Lexer, print, Source, TokenKind, visit, type DocumentNode } from 'graphql';
import { expect, test } from 'vitest';
import { loadDocuments } from '../../src/rest-facade/documents.ts';
import { buildSchema } from '../../src/schema/build-schema.ts';
import * as limits from '../../src/schema/limits.ts';
import { measureOperation } from '../../src/schema/measure-document.ts';

const schema = buildSchema();
const documents = [...loadDocuments(schema)];
/** A page as large as a connection may be. */
const PAGE = { first: limits.FIRST_MAX, perPage: limits.FIRST_MAX, page: 1 };

function tokensOf(text: string): number {
  const lexer = new Lexer(new Source(text));
  let count = 0;
  while (lexer.advance().kind !== TokenKind.EOF) count++;
  return count;
}

function usageOf(document: DocumentNode): Record<string, number> {
  const text = print(document);
  const operation = document.definitions.find((node) => node.kind === Kind.OPERATION_DEFINITION);
  if (!operation) throw new Error('A document without an operation.');
  const measure = measureOperation(schema, { document, operation, variables: PAGE });
  const written = { fields: 0, aliases: 0, directives: 0 };
  visit(document, {
    Field: (node) => {
      written.fields++;
      if (node.alias) written.aliases++;
    },
    Directive: () => void written.directives++,
  });
  return {
    characters: text.length / limits.DOCUMENT_CHARACTERS_MAX,
    tokens: tokensOf(text) / limits.TOKENS_MAX,
    definitions: document.definitions.length / limits.FRAGMENTS_MAX,
    'fields written': written.fields / limits.FIELDS_WRITTEN_MAX,
    'fields unfolded': measure.fields / limits.FIELDS_UNFOLDED_MAX,
    aliases: written.aliases / limits.ALIASES_MAX,
    directives: written.directives / limits.DIRECTIVES_MAX,
    levels: measure.depth / limits.DEPTH_MAX,
    'root fields': operation.selectionSet.selections.length / limits.ROOT_FIELDS_MAX,
    values: measure.cost / limits.COST_MAX,
  };
}

test('every operation of the REST facade keeps to half of each limit, with a page of a hundred', () => {
  expect(documents.length).toBeGreaterThan(30);
  const above = documents.flatMap(([name, { document }]) =>
    Object.entries(usageOf(document))
      .filter(([, share]) => share > 0.5)
      .map(([limit, share]) => `${name}: ${Math.round(share * 100)} % of ${limit}`),
  );
  expect(above).toEqual([]);
});
