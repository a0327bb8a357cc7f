/** The events of a plugin's field of Subscription. The stream ends when the client leaves, or when the plugin is deactivated or fails. */
import type { GraphQLFieldResolver } from 'graphql';
import { requireAccess, type Access } from '../access.ts';
import { guarded } from '../authorization-plugin.ts';
import { graphqlContext } from '../context.ts';
import { checkedValue } from './checked-value.ts';
import { callPlugin, readFrom } from './call-plugin.ts';
import { pluginCallerOf } from './plugin-caller.ts';
import type { PluginField, PluginFunction } from './plugin-resolvers.ts';
import { requireSwitchedOn } from './switched-on.ts';

type Resolver = GraphQLFieldResolver<unknown, unknown, object>;

interface StreamField extends PluginField {
  readonly access: Access;
  readonly hasArguments: boolean;
}

/** `subscribe` of the field. */
export function streamSubscriber(field: StreamField, subscribe: PluginFunction): Resolver {
  const open: Resolver = async (_root, args, context) => {
    const ctx = graphqlContext(context);
    requireAccess(ctx.viewer, field.access);
    if (!('admin' in field.access)) await requireSwitchedOn(ctx, field.plugin);
    const caller = await pluginCallerOf(ctx);
    const events = await callPlugin(field, async () => iteratorOf(await subscribe(args, caller)));
    return containedStream(field, events);
  };
  return guarded(open, field);
}

/** `resolve` of the field: the event, checked. */
export function eventResolver(field: PluginField): Resolver {
  return (event, args) => readFrom(field, () => checkedValue(field.expected(args), event));
}

function iteratorOf(answered: unknown): AsyncIterator<unknown> {
  if (isAsyncIterable(answered)) return answered[Symbol.asyncIterator]();
  throw new TypeError('"subscribe" must return an async iterable, such as an async generator.');
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return (
    typeof value === 'object' &&
    value !== null &&
    Symbol.asyncIterator in value &&
    typeof value[Symbol.asyncIterator] === 'function'
  );
}

const END = { done: true, value: undefined } as const;

/** Waiting for the next event has no time limit. */
function containedStream(
  field: StreamField,
  events: AsyncIterator<unknown>,
): AsyncIterableIterator<unknown, void, void> {
  const ended = Promise.withResolvers<typeof END>();
  const end = () => {
    stopWatching();
    ended.resolve(END);
    // Nobody waits for the plugin's own end; its faults are logged.
    callPlugin(field, async () => events.return?.()).catch(() => undefined);
  };
  const stopWatching = field.hooks.onChange(() => {
    if (!field.isLive()) end();
  });
  const next = async (): Promise<IteratorResult<unknown, void>> => {
    const event = readFrom(field, async () => events.next()).catch((error: unknown) =>
      readFrom(field, (): never => {
        throw error;
      }),
    );
    // It may fail after the stream has ended.
    event.catch(() => undefined);
    const result = await Promise.race([event, ended.promise]);
    if (result.done !== true) return { done: false, value: result.value };
    stopWatching();
    return END;
  };
  return {
    next,
    return: async () => {
      end();
      return END;
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}
