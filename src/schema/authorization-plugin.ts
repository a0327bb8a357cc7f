/**
 * Rules for every field with arguments: texts that the database cannot store are refused, `executionsMax` counts per request
 * (aliases do not multiply a login), and a foreign uid is answered as the entry point demands. Every successful mutation is in
 * the audit trail before it is answered.
 */
import SchemaBuilder, {
  BasePlugin,
  type FieldNullability,
  type InputFieldMap,
  type PothosOutputFieldConfig,
  type SchemaTypes,
  type TypeParam,
} from '@pothos/core';
import { type GraphQLFieldResolver, type GraphQLResolveInfo } from 'graphql';
import { endChecks, type ChangedThing } from '../domain/context.ts';
import {
  ForbiddenError,
  ForeignResourceError,
  NotFoundError,
  RateLimitedError,
  ValidationError,
} from '../lib/errors.ts';
import { isUnavailable } from '../lib/is-unavailable.ts';
import { insertAuditEntries } from '../domain/accounts/audit-store.ts';
import { auditEntryOf, changesAccess, noteChange } from './audit.ts';
import { graphqlContext, type GraphqlContext } from './context.ts';
import { NO_CURSOR } from './key-connection.ts';

declare global {
  // Pothos knows plugins and their options by declaration merging; the parameters repeat those of its own types.
  export namespace PothosSchemaTypes {
    interface Plugins<Types extends SchemaTypes> {
      authorization: AuthorizationPlugin<Types>;
    }
    interface MutationFieldOptions<
      Types extends SchemaTypes,
      Type extends TypeParam<Types>,
      Nullable extends FieldNullability<Type>,
      Args extends InputFieldMap,
      ResolveReturnShape,
    > {
      /** How often the field may run in one request, by any aliases. */
      executionsMax?: number;
    }
  }
}

type Resolver<Types extends SchemaTypes> = GraphQLFieldResolver<unknown, Types['Context'], object>;

/** After a limited field was refused, the next request may come at once. */
const NEXT_REQUEST_SECONDS = 1;

class AuthorizationPlugin<Types extends SchemaTypes> extends BasePlugin<Types> {
  override wrapResolve(resolver: Resolver<Types>, fieldConfig: PothosOutputFieldConfig<Types>): Resolver<Types> {
    return guarded(fieldConfig.kind === 'Mutation' ? audited(resolver) : resolver, guardOf(fieldConfig));
  }

  override wrapSubscribe(
    subscribe: Resolver<Types> | undefined,
    fieldConfig: PothosOutputFieldConfig<Types>,
  ): Resolver<Types> | undefined {
    return subscribe && guarded(subscribe, guardOf(fieldConfig));
  }
}

interface Guard {
  readonly hasArguments: boolean;
  readonly executionsMax?: number | undefined;
}

function guardOf<Types extends SchemaTypes>(fieldConfig: PothosOutputFieldConfig<Types>): Guard {
  const executionsMax = fieldConfig.kind === 'Mutation' ? fieldConfig.pothosOptions.executionsMax : undefined;
  return { hasArguments: Object.keys(fieldConfig.args).length > 0, executionsMax };
}

/** The resolver with the rules for arguments. */
export function guarded<Ctx>(
  resolver: GraphQLFieldResolver<unknown, Ctx, object>,
  { hasArguments, executionsMax }: Guard,
): GraphQLFieldResolver<unknown, Ctx, object> {
  if (!hasArguments) return resolver;
  return async (source, args, context, info) => {
    const ctx = graphqlContext(context);
    if (executionsMax !== undefined) countExecution(ctx, info, executionsMax);
    refuseBrokenTexts(args);
    try {
      return await resolver(source, args, context, info);
    } catch (error) {
      if (error instanceof ForeignResourceError) throw answerToForeign(error, ctx);
      throw forgedCursor(error, args) ?? error;
    }
  };
}

/** A mutation that is audited on success: by its verb within the change, or else after it. */
export function audited<Ctx>(
  resolver: GraphQLFieldResolver<unknown, Ctx, object>,
): GraphQLFieldResolver<unknown, Ctx, object> {
  return async (source, args, context, info) => {
    const ctx = graphqlContext(context);
    const operation = info.fieldName;
    let written: ChangedThing | undefined;
    // Mutations of a request run one after another, so there is one change at a time.
    ctx.change.write = async (tx, about) => {
      await insertAuditEntries(tx, [auditEntryOf({ operation, args, about, ctx })]);
      tx.afterCommit(() => void (written = about));
    };
    try {
      const result: unknown = await resolver(source, args, context, info);
      // Of a verb without a transaction.
      endChecks(ctx);
      const entry = auditEntryOf({ operation, args, result, about: written, ctx });
      if (!written && !HAS_OWN_RECORD.has(operation)) await ctx.audit.record(entry);
      if (changesAccess(entry)) noteChange(ctx, entry);
      return result;
    } finally {
      ctx.change.write = undefined;
      if (!KEEPS_ACCESS.has(operation)) ctx.tokens.clear();
    }
  };
}

/**
 * Mutations that programs send in great number and that change nothing about access. After every other one this process forgets
 * the tokens it remembers, so that the next request finds the change. One that is missing here costs time only.
 */
const KEEPS_ACCESS: ReadonlySet<string> = new Set([
  ...['addSubscriber', 'updateSubscriber', 'deleteSubscriber', 'tagSubscriber', 'untagSubscriber'],
  ...['subscribeSubscriber', 'unsubscribeSubscriber', 'signUp', 'suppressAddresses'],
  ...['appendToFile', 'appendToListImport', 'reportDelivery', 'sendTransactional'],
  ...['recordEvents', 'executeAutomation', 'callAutomation'],
]);

/** What they write is the record itself, and programs call them for all that people do: an entry beside it would say nothing more. */
const HAS_OWN_RECORD: ReadonlySet<string> = new Set(['recordEvents']);

export const authorizationPlugin = 'authorization';
SchemaBuilder.registerPlugin(authorizationPlugin, AuthorizationPlugin);

function countExecution(ctx: GraphqlContext, info: GraphQLResolveInfo, executionsMax: number): void {
  const count = (ctx.executions.get(info.fieldName) ?? 0) + 1;
  ctx.executions.set(info.fieldName, count);
  if (count <= executionsMax) return;
  const message = `${info.fieldName} may run ${executionsMax === 1 ? 'once' : `${executionsMax} times`} per request.`;
  throw new RateLimitedError('TOO_MANY_EXECUTIONS', message, NEXT_REQUEST_SECONDS);
}

/** PostgreSQL cannot store NUL, and half a surrogate pair is invalid: both would fail later. */
function refuseBrokenTexts(args: object): void {
  const broken = pathOfBrokenText(args, []);
  if (!broken) return;
  const path = broken[0] === 'input' ? broken.slice(1) : broken;
  const name = path.join('.') || 'input';
  throw new ValidationError({ [name]: [`The ${path.at(-1) ?? 'input'} must not contain NUL or broken characters.`] });
}

function pathOfBrokenText(value: unknown, path: readonly string[]): readonly string[] | undefined {
  if (typeof value === 'string') return value.includes('\0') || !value.isWellFormed() ? path : undefined;
  if (typeof value !== 'object' || value === null || value instanceof Date || ArrayBuffer.isView(value))
    return undefined;
  for (const [key, inner] of Object.entries(value)) {
    if (key.includes('\0') || !key.isWellFormed()) return path;
    const broken = pathOfBrokenText(inner, [...path, key]);
    if (broken) return broken;
  }
  return undefined;
}

/** The specification demands a 403 over REST; GraphQL does not reveal that the uid exists. */
function answerToForeign(error: ForeignResourceError, ctx: GraphqlContext): Error {
  if (ctx.entryPoint === 'rest')
    return new ForbiddenError('FOREIGN_RESOURCE', 'This resource belongs to somebody else.');
  return error.unlessForeign ?? new NotFoundError(error.code, error.message);
}

/**
 * Prisma refuses a cursor whose parts have the wrong type or are too large. Our own cursors never do; and a connection takes
 * nothing else from the caller.
 */
function forgedCursor(error: unknown, args: object): ValidationError | undefined {
  const name = ['after', 'before'].find((cursor) => Reflect.get(args, cursor));
  if (!name || !(error instanceof Error) || !error.name.startsWith('PrismaClient') || isAway(error)) return undefined;
  return new ValidationError({ [name]: [NO_CURSOR] });
}

/** Prisma's errors when the database is unreachable, out of connections or too slow: not caused by a cursor. */
function isAway(error: Error): boolean {
  if (isUnavailable(error)) return true;
  const code = 'code' in error ? String(error.code) : '';
  return error.name === 'PrismaClientInitializationError' || /^P(1\d{3}|2024)$/.test(code);
}
