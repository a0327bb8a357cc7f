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

/** A callback that fails, or returns what `check` refuses, changes nothing. */
export function createCheckedFilter(table: HookTable, contained: ContainedCalls): CheckedFilter {
  return (name, value, check) => {
    const callbacks = table.live.callbacks.get(name)?.entries;
    if (!callbacks) return value;
    let current = deepFreeze(value);
    for (const callback of callbacks) {
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
