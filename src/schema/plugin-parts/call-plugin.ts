/** Calls code of a plugin for a field: contained, within a time, and with nothing of its fault in what is thrown. */
import type { ProductHooks } from '../../domain/product-hooks.ts';
import { messageOf, PluginFailedError } from '../../lib/errors.ts';

/** An answer waits for it. */
const FIELD_MS_MAX = 5_000;

export interface Place {
  readonly plugin: string;
  /** `Query.acmeNotes`, for the log. */
  readonly place: string;
  readonly hooks: ProductHooks;
}

/** Waits for the result, at most five seconds. Throws PluginFailedError; the reason is in the log. */
export async function callPlugin<T>({ plugin, place, hooks }: Place, act: () => Promise<T>): Promise<T> {
  try {
    const named = () => act().catch((error: unknown) => refuse(place, error));
    return await hooks.contained.run({ plugin, hook: 'graphql_part' }, named, { timeoutMs: FIELD_MS_MAX });
  } catch (error) {
    throw new PluginFailedError(plugin, { cause: error });
  }
}

/** Reads what is there already. Throws PluginFailedError. */
export function readFrom<T>({ plugin, place, hooks }: Place, act: () => T): T {
  try {
    return hooks.contained.callOrThrow({ plugin, hook: 'graphql_part' }, () => {
      try {
        return act();
      } catch (error) {
        return refuse(place, error);
      }
    });
  } catch (error) {
    throw new PluginFailedError(plugin, { cause: error });
  }
}

function refuse(place: string, error: unknown): never {
  throw new Error(`${place}: ${messageOf(error)}`, { cause: error });
}
