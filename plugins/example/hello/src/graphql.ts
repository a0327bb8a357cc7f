/** A field of GraphQL. */
import type { GraphqlPart, PluginServices } from 'mailwright/plugin-api';

export const graphql = (translate: PluginServices['translate']): GraphqlPart => ({
  schema: 'extend type Query { "The greeting in a language." exampleGreeting(language: String!): String! }',
  access: { exampleGreeting: 'authenticated' },
  resolvers: {
    Query: { exampleGreeting: (_parent, { language }: { language: string }) => translate(language, 'title') },
  },
});
