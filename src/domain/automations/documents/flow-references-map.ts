/** What a flow refers to by a uid, a tag or a name, in whatever part of it: found, and replaced. Works on drafts with faults, too. */
import { isUid } from '../../../lib/ids.ts';

export const REFERENCE_KINDS = [
  ...(['templates', 'lists', 'segments', 'automations', 'campaigns'] as const),
  ...(['fields', 'events'] as const),
] as const;
export type ReferenceKind = (typeof REFERENCE_KINDS)[number];

/** Those of which a uid is the name in flows. */
export type UidKind = Exclude<ReferenceKind, 'fields' | 'events'>;

const KIND_BY_KEY: ReadonlyMap<string, UidKind> = new Map([
  ['templateUid', 'templates'],
  ['listUid', 'lists'],
  ['segmentUid', 'segments'],
  ['automationUid', 'automations'],
  ['campaignUid', 'campaigns'],
]);

type Replace = (kind: ReferenceKind, value: string) => string;

/** A copy with other references. Uids that are none stay as they are. */
export function withReferences(part: unknown, replace: Replace): unknown {
  if (Array.isArray(part)) return part.map((one) => withReferences(one, replace));
  if (!isObject(part)) return part;
  const isEvent = part['type'] === 'event';
  return Object.fromEntries(
    Object.entries(part).map(([key, value]) => [key, replaced({ key, value, isEvent }, replace)]),
  );
}

function replaced(
  { key, value, isEvent }: { readonly key: string; readonly value: unknown; readonly isEvent: boolean },
  replace: Replace,
): unknown {
  const kind = KIND_BY_KEY.get(key);
  if (typeof value === 'string') {
    if (kind !== undefined) return isUid(value) ? replace(kind, value) : value;
    if (key === 'field') return replace('fields', value);
    return key === 'name' && isEvent ? replace('events', value) : value;
  }
  if (key === 'field' && isObject(value) && typeof value['tag'] === 'string')
    return { ...value, tag: replace('fields', value['tag']) };
  // Of a segment's rule: the campaigns that somebody opened, clicked or received.
  if (key === 'campaigns' && isObject(value) && Array.isArray(value['uids']))
    return { ...value, uids: value['uids'].map((uid) => (isText(uid) ? replace('campaigns', uid) : uid)) };
  // Of a segment's rule, too: an event from outside. Those of plugins have a colon, and their plugin's name everywhere.
  if ((key === 'did' || key === 'didNot') && isObject(value) && isText(value['event']) && !value['event'].includes(':'))
    return { ...value, event: replace('events', value['event']) };
  return withReferences(value, replace);
}

/** All references of a flow, each once, in the order in which they stand there. */
export function referencesIn(flow: unknown): ReadonlyMap<ReferenceKind, ReadonlySet<string>> {
  const found = new Map<ReferenceKind, Set<string>>();
  withReferences(flow, (kind, value) => {
    const known = found.get(kind) ?? new Set<string>();
    found.set(kind, known.add(value));
    return value;
  });
  return found;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}
