/**
 * Resolvers of plugins as the schema calls them: the right is checked by the product's own code, then the plugin's function is called with
 * plain data only, contained and within five seconds, and its answer is checked.
 */
import type { GraphQLFieldResolver, GraphQLResolveInfo } from 'graphql';
import { endChecks } from '../../domain/context.ts';
import type { ExpectedError } from '../../lib/errors.ts';
import { requireAccess, type Access } from '../access.ts';
import { audited, guarded } from '../authorization-plugin.ts';
import { graphqlContext, type GraphqlContext } from '../context.ts';
import { checkedValue, type Expected } from './checked-value.ts';
import { callPlugin, readFrom, type Place } from './call-plugin.ts';
import { pluginCallerOf } from './plugin-caller.ts';
import { errorTypeOf, errorValue, isInResults } from './error-value.ts';
import { refusalOf } from './refusal-of-plugin.ts';
import { requireSwitchedOn } from './switched-on.ts';
import type { ResultForm } from './with-results.ts';

type Resolver = GraphQLFieldResolver<unknown, unknown, object>;
export type PluginFunction = (...given: readonly unknown[]) => unknown;

/** A field of a plugin. */
export interface PluginField extends Place {
  /** Whether the part to which it belongs is live. */
  readonly isLive: () => boolean;
  /** What the function has to answer; with the size arguments of the call. */
  expected(args: object): Expected;
}

/** Calls the function and checks its answer. Throws the ExpectedError that it throws, or PluginFailedError. */
export async function callField(field: PluginField, call: () => unknown, args: object = {}): Promise<unknown> {
  const answer = await callPlugin(
    field,
    async (): Promise<{ readonly value: unknown } | { readonly refusal: ExpectedError }> => {
      try {
        return { value: checkedValue(field.expected(args), await call()) };
      } catch (error) {
        const refusal = refusalOf(error);
        if (refusal) return { refusal };
        throw error;
      }
    },
  );
  if ('refusal' in answer) throw answer.refusal;
  return answer.value;
}

export interface RootField extends PluginField {
  readonly access: Access;
  readonly form: ResultForm;
  readonly isMutation: boolean;
  readonly hasArguments: boolean;
}

/** A field of Query or Mutation. What it refuses is a member of its result. */
export function rootResolver(field: RootField, resolve: PluginFunction): Resolver {
  const { access, form, isMutation, hasArguments } = field;
  const run: Resolver = async (_root, args, context) => {
    const ctx = graphqlContext(context);
    requireAccess(ctx.viewer, access);
    if (!('admin' in access)) await requireSwitchedOn(ctx, field.plugin);
    // Whatever the plugin would change cannot be taken back.
    if (isMutation) endChecks(ctx);
    const caller = await pluginCallerOf(ctx);
    // In a box: the audit trail looks into results for uids of the product.
    return { box: await callField(field, () => resolve(undefined, args, caller), args) };
  };
  const checked = guarded(isMutation ? audited(run) : run, { hasArguments });
  return async (root, args, context, info) => {
    try {
      const answer: unknown = await checked(root, args, context, info);
      const value = isBox(answer) ? answer.box : null;
      if (form.property) return { [form.property]: value };
      return value;
    } catch (error) {
      if (isInResults(error)) return errorValue(error);
      throw error;
    }
  };
}

/** The type of a root field's result. */
export function memberOf({ member }: ResultForm): (value: unknown) => string {
  return (value) => errorTypeOf(value) ?? member;
}

/** A field that was added to a type of the product; `uidOf` reads the uid of the object. */
export function addedResolver(
  field: PluginField,
  resolve: PluginFunction,
  uidOf: (parent: unknown, ctx: GraphqlContext, info: GraphQLResolveInfo) => unknown,
): Resolver {
  return async (parent, args, context, info) => {
    // A stream that began before the plugin was deactivated goes on without it.
    if (info.operation.operation === 'subscription' && !field.isLive()) return null;
    const ctx = graphqlContext(context);
    await requireSwitchedOn(ctx, field.plugin);
    const [uid, caller] = await Promise.all([uidOf(parent, ctx, info), pluginCallerOf(ctx)]);
    return callField(field, () => resolve({ uid }, args, caller), args);
  };
}

/** A field of a type of the plugin. Without a function it is the property of its name. */
export function ownResolver(field: PluginField, name: string, resolve: PluginFunction | undefined): Resolver {
  if (!resolve) return (parent) => propertyOf(field, parent, name);
  return async (parent, args, context) => {
    const caller = await pluginCallerOf(graphqlContext(context));
    return callField(field, () => resolve(parent, args, caller), args);
  };
}

/** Read at once where it is no promise: objects have many properties. */
function propertyOf(field: PluginField, parent: unknown, name: string): unknown {
  const value = readFrom(field, () =>
    typeof parent === 'object' && parent !== null ? Reflect.get(parent, name) : undefined,
  );
  if (value instanceof Promise) return callField(field, () => value);
  return readFrom(field, () => checkedValue(field.expected({}), value));
}

function isBox(value: unknown): value is { readonly box: unknown } {
  return typeof value === 'object' && value !== null && 'box' in value;
}
