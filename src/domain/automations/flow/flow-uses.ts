/** The uids in a flow, whatever is in it: a draft may have faults. */

export interface FlowUses {
  readonly templates: readonly string[];
  readonly segments: readonly string[];
  readonly lists: readonly string[];
  readonly automations: readonly string[];
}

/** What the triggers and nodes name. */
export function usesOf(draft: unknown): FlowUses {
  const parts = [...listIn(draft, 'triggers'), ...listIn(draft, 'nodes')];
  const named = (name: string) => [...new Set(parts.flatMap((part) => textIn(part, name)))].sort();
  return {
    ...{ templates: named('templateUid'), segments: named('segmentUid'), lists: named('listUid') },
    automations: named('automationUid'),
  };
}

function listIn(given: unknown, name: string): unknown[] {
  const value: unknown = isObject(given) ? Reflect.get(given, name) : undefined;
  return Array.isArray(value) ? value : [];
}

function textIn(part: unknown, name: string): string[] {
  const value: unknown = isObject(part) ? Reflect.get(part, name) : undefined;
  return typeof value === 'string' ? [value] : [];
}

function isObject(given: unknown): given is object {
  return typeof given === 'object' && given !== null;
}
