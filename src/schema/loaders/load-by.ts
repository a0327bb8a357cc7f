/**
 * One DataLoader per request and batch function: values for many rows of a page are read by one statement. `loadBy(ctx,
 * readListCounters).load(list.id)`.
 */
import DataLoader from 'dataloader';
import type { GraphqlContext } from '../context.ts';

/** Reads the values of many keys at once, in the order of the keys. */
export type BatchRead<Key, Value> = (ctx: GraphqlContext, keys: readonly Key[]) => Promise<readonly (Value | Error)[]>;

/** Keys per statement; a page has at most 1,000 rows. */
const BATCH_SIZE_MAX = 1_000;

/** Typed by the batch function that is the key: one map per function instead of one map for all. */
const loadersOf = new WeakMap<object, WeakMap<GraphqlContext, unknown>>();

/** The request's loader for a batch function; the function itself is the key, so define it once, at module level. */
export function loadBy<Key, Value>(ctx: GraphqlContext, read: BatchRead<Key, Value>): DataLoader<Key, Value> {
  const mine = loadersOf.get(read) ?? new WeakMap<GraphqlContext, unknown>();
  loadersOf.set(read, mine);
  const known = mine.get(ctx);
  if (isLoaderOf(known, read)) return known;
  const loader = new DataLoader<Key, Value>((keys) => read(ctx, keys), { maxBatchSize: BATCH_SIZE_MAX });
  mine.set(ctx, loader);
  return loader;
}

/** A value in the map of `read` was made for `read`. */
function isLoaderOf<Key, Value>(loader: unknown, _read: BatchRead<Key, Value>): loader is DataLoader<Key, Value> {
  return loader instanceof DataLoader;
}
