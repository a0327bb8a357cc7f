/** FILTERs whose callers look at what each plugin returns, before the next plugin gets it. */
import type { FilterHooks } from '../plugin-api/index.ts';
import { deepFreeze } from '../lib/deep-freeze.ts';
import type { ContainedCalls } from './contained-call.ts';
import { sameKind } from './hook-calls.ts';
import type { HookTable } from './hook-table.ts';

export type CheckedFilter = <Name extends keyof FilterHooks>(
  name: Name,
  value: FilterHooks[Name],
  check: (returned: unknown, before: FilterHooks[Name], plugin: string) => FilterHooks[Name],
) => FilterHooks[Name];

export interface CheckedFilterTools {
  readonly table: HookTable;
  readonly contained: ContainedCalls;
  readonly mayActFor: (plugin: string, customerUid: string) => boolean;
}

/** Of a value with a `customerUid` plugins see only what belongs to customers for which they may act. A callback that fails, or returns what `check` refuses, changes nothing. */
export function createCheckedFilter({ table, contained, mayActFor }: CheckedFilterTools): CheckedFilter {
  return (name, value, check) => {
    const callbacks = table.live.callbacks.get(name)?.entries;
    if (!callbacks) return value;
    let current = deepFreeze(value);
    const customerUid = customerOf(value);
    for (const callback of callbacks) {
      if (customerUid !== undefined && !mayActFor(callback.plugin, customerUid)) continue;
      const before = current;
      const next = contained.call(callback, () => {
        const returned = sameKind(callback.value(before), before);
        return returned === before ? before : deepFreeze(check(returned, before, callback.plugin));
      });
      if (next !== undefined) current = next;
    }
    return current;
  };
}

function customerOf(value: unknown): string | undefined {
  const uid: unknown = typeof value === 'object' && value !== null ? Reflect.get(value, 'customerUid') : undefined;
  return typeof uid === 'string' ? uid : undefined;
}
