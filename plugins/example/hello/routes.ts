/** A field of GraphQL, a row below /api/v1/hello, and a page below /plugins/example/hello. */
import type { GraphqlPart, PluginServices, RestRow, Route } from 'mailwright/plugin-api';

export const graphql = (translate: PluginServices['translate']): GraphqlPart => ({
  schema: 'extend type Query { "The greeting in a language." exampleGreeting(language: String!): String! }',
  access: { exampleGreeting: 'authenticated' },
  resolvers: { Query: { exampleGreeting: (_parent, { language }) => translate(String(language), 'title') } },
});

const FIELD = 'exampleGreeting(language: $language) { ... on ExampleGreetingSuccess { data } }';

export const row: RestRow = {
  ...{ method: 'GET', path: '/hello/greeting', access: 'token', summary: 'Says hello in a language.' },
  parameters: { language: { kind: 'text', isRequired: true } },
  operation: `query ($language: String!) { ${FIELD} }`,
  present: ({ exampleGreeting }) => exampleGreeting,
  answers: { kind: 'body', shape: { type: 'object', properties: { data: { type: 'string' } } } },
};

export const page: Route = { method: 'GET', path: '/', auth: 'public', handle: () => ({ html: '<h1>Hello</h1>' }) };
