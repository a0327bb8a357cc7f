/**
 * The one Pothos builder. Every noun's files add their types and fields; `build-schema.ts` imports them all. Fields are non-null
 * unless they say `nullable: true`. Root fields and object types name their scope.
 */
import { cursorInput, rowsInput } from './page-inputs.ts';
import SchemaBuilder from '@pothos/core';
import ErrorsPlugin from '@pothos/plugin-errors';
import PrismaPlugin from '@pothos/plugin-prisma';
import RelayPlugin from '@pothos/plugin-relay';
import ScopeAuthPlugin from '@pothos/plugin-scope-auth';
import SimpleObjectsPlugin from '@pothos/plugin-simple-objects';
import WithInputPlugin from '@pothos/plugin-with-input';
import type PrismaTypes from '../generated/pothos.ts';
import { getDatamodel } from '../generated/pothos.ts';
import type { Scope } from '../domain/accounts/scopes.ts';
import type { GraphqlContext } from './context.ts';
import { accessOf, accessRefusal, deniedRight } from './access.ts';
import { authorizationPlugin } from './authorization-plugin.ts';
import { limitsPlugin } from './limits-plugin.ts';
import { RESULT_ERRORS } from './result-errors.ts';
import { resultPlugin } from './result-plugin.ts';
import { FIRST_DEFAULT, FIRST_MAX } from './limits.ts';

interface BuilderTypes {
  Context: GraphqlContext;
  PrismaTypes: PrismaTypes;
  DefaultFieldNullability: false;
  DefaultEdgesNullability: false;
  DefaultNodeNullability: false;
  WithInputArgRequired: true;
  DefaultAuthStrategy: 'all';
  /** Every connection knows how many rows it has; a function is called when a document asks. */
  Connection: { readonly totalCount: number | (() => number | Promise<number>) };
  Scalars: {
    ID: { Input: string; Output: string };
    DateTime: { Input: Date; Output: Date };
    BigInt: { Input: bigint; Output: bigint };
    Base64: { Input: Uint8Array; Output: Uint8Array };
    JsonObject: { Input: Record<string, unknown>; Output: unknown };
  };
  AuthScopes: {
    /** Anybody, without a token. A test lists these few fields. */
    public: boolean;
    /** Any valid token. */
    authenticated: boolean;
    /** A token with this scope; a write scope includes reading. */
    scope: Scope;
    /** An administrator, with a token that may act as one. */
    admin: boolean;
  };
}

export const builder = new SchemaBuilder<BuilderTypes>({
  // The first one is the outermost: errors of the others become members of the result.
  plugins: [
    ErrorsPlugin,
    authorizationPlugin,
    ScopeAuthPlugin,
    RelayPlugin,
    PrismaPlugin,
    WithInputPlugin,
    SimpleObjectsPlugin,
    limitsPlugin,
    // The last one sees a field's options first.
    resultPlugin,
  ],
  defaultFieldNullability: false,
  errors: {
    directResult: true,
    defaultTypes: RESULT_ERRORS,
    defaultUnionOptions: { name: ({ fieldName }) => `${capitalised(fieldName)}Result` },
    defaultResultOptions: { name: ({ fieldName }) => `${capitalised(fieldName)}Success` },
  },
  scopeAuth: {
    authorizeOnSubscribe: true,
    // Checked once per object instead of once per field.
    runScopesOnType: true,
    defaultStrategy: 'all',
    unauthorizedError: (_parent, { viewer }, _info, { failure }) => accessRefusal(viewer, deniedRight(failure)),
    authScopes: ({ viewer }) => accessOf(viewer),
  },
  relay: {
    cursorType: 'String',
    nodesOnConnection: true,
    firstArgOptions: {
      description: `Rows from the start; ${FIRST_DEFAULT} unless given.`,
      check: rowsInput(FIRST_MAX),
    },
    lastArgOptions: { description: 'Rows from the end.', check: rowsInput(FIRST_MAX) },
    afterArgOptions: { description: 'Only rows after this one.', check: cursorInput },
    beforeArgOptions: { description: 'Only rows before this one.', check: cursorInput },
    nodeQueryOptions: false,
    nodesQueryOptions: false,
    edgesFieldOptions: { nullable: false },
    nodeFieldOptions: { nullable: false },
  },
  prisma: {
    client: (ctx) => ctx.prisma,
    dmmf: getDatamodel(),
    exposeDescriptions: true,
    defaultConnectionSize: FIRST_DEFAULT,
    maxConnectionSize: FIRST_MAX,
    onUnusedQuery: 'error',
  },
  withInput: {
    argOptions: { required: true },
    typeOptions: { name: ({ fieldName }) => `${capitalised(fieldName)}Input` },
  },
});

builder.queryType({
  description:
    'Reads data. Everything here belongs to the customer of the token. Expected errors are members of the result union.',
});
builder.globalConnectionField('totalCount', (t) =>
  t.int({
    description: 'Rows of all pages together, by the same filters.',
    resolve: ({ totalCount }) => (typeof totalCount === 'function' ? totalCount() : totalCount),
  }),
);
builder.mutationType({ description: 'Changes data. Expected errors are members of the result union.' });

function capitalised(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1);
}
