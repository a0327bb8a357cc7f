/** Finds for each reference of a flow document what it is here: by the caller's mapping, by its own name, or a template to be made. */
import { ValidationError } from '../../../lib/errors.ts';
import { fieldsOfList } from '../../audience/list-field-store.ts';
import type { Context } from '../../context.ts';
import { KIND_WORD, type FlowDocument, type FlowMapping } from './flow-document.ts';
import { referencesIn, REFERENCE_KINDS, type ReferenceKind } from './flow-references-map.ts';
import { thingsNamed } from './named-things-read-model.ts';

export interface Resolving {
  readonly document: FlowDocument;
  readonly mapping: FlowMapping;
  readonly list: { readonly customerId: bigint; readonly id: bigint };
}

export interface Resolved {
  /** What stands here for it, by `placeOf`. */
  readonly known: ReadonlyMap<string, string>;
  /** Of templates that are to be made of the document's texts. */
  readonly toMake: readonly string[];
}

export function placeOf(kind: ReferenceKind, value: string): string {
  return `${kind} ${value}`;
}

/** Somebody corrects them by hand. */
const FAULTS_SHOWN_MAX = 100;

/** Throws ValidationError on `mapping` with a sentence for each reference that is not found. */
export async function resolveReferences(ctx: Context, { document, mapping, list }: Resolving): Promise<Resolved> {
  const used = allIn(document);
  const asked = used.map(({ kind, value }): Asked => {
    const mapped = ownOf(mapping[kind], value);
    const { name, texts } = ownOf(document.references[kind], value) ?? {};
    return { kind, value, mapped, name, isMade: texts !== undefined && mapped === undefined };
  });
  const find = await finder(ctx, list, asked);
  const faults = strangeNames(mapping, used);
  const known = new Map<string, string>();
  for (const one of asked.filter(({ isMade }) => !isMade)) {
    const target = find(one);
    if ('fault' in target) faults.push(target.fault);
    else known.set(placeOf(one.kind, one.value), target.name);
  }
  if (faults.length > 0) throw new ValidationError({ mapping: faults.slice(0, FAULTS_SHOWN_MAX) });
  return { known, toMake: asked.filter(({ isMade }) => isMade).map(({ value }) => value) };
}

/** Names in documents are the caller's: only own ones count. */
function ownOf<Value>(values: Readonly<Record<string, Value>> | undefined, name: string): Value | undefined {
  return values && Object.hasOwn(values, name) ? values[name] : undefined;
}

interface Used {
  readonly kind: ReferenceKind;
  readonly value: string;
}

interface Asked extends Used {
  readonly mapped: string | undefined;
  /** What it is called in the document. */
  readonly name: string | undefined;
  readonly isMade: boolean;
}

function allIn({ flow }: FlowDocument): readonly Used[] {
  return [...referencesIn(flow)].flatMap(([kind, values]) => [...values].map((value) => ({ kind, value })));
}

/** A name that the flow does not use is a mistake of the caller. */
function strangeNames(mapping: FlowMapping, used: readonly Used[]): string[] {
  const places = new Set(used.map(({ kind, value }) => placeOf(kind, value)));
  return REFERENCE_KINDS.flatMap((kind) =>
    Object.keys(mapping[kind] ?? {})
      .filter((name) => !places.has(placeOf(kind, name)))
      .map((name) => `The flow has no ${KIND_WORD[kind]} ${quoted(name)}, which mapping.${kind} names.`),
  );
}

type Found = { readonly name: string } | { readonly fault: string };

async function finder(ctx: Context, list: Resolving['list'], asked: readonly Asked[]): Promise<(one: Asked) => Found> {
  const ofThings = asked.filter(({ kind, isMade }) => kind !== 'fields' && kind !== 'events' && !isMade);
  const uids = ofThings.map(({ mapped, value }) => mapped ?? value);
  const names = ofThings.flatMap(({ name }) => name ?? []);
  const things = await thingsNamed(ctx.db, { customerId: list.customerId, listId: list.id, uids, names });
  const tags = new Set((await fieldsOfList(ctx.db, list)).map(({ tag }) => tag));
  const places = new Set(things.map(({ kind, uid }) => placeOf(kind, uid)));
  const byName = Map.groupBy(things, ({ kind, name }) => placeOf(kind, name));
  return (one) => {
    const { kind, value, mapped } = one;
    const wanted = mapped ?? value;
    if (kind === 'events') return { name: wanted };
    const isThere = kind === 'fields' ? tags.has(wanted) : places.has(placeOf(kind, wanted));
    if (isThere) return { name: wanted };
    const same = (mapped === undefined && one.name !== undefined && byName.get(placeOf(kind, one.name))) || [];
    const [only] = same;
    return only && same.length === 1 ? { name: only.uid } : { fault: faultOf(one, same.length) };
  };
}

function faultOf({ kind, value, mapped, name }: Asked, ofSameName: number): string {
  const word = KIND_WORD[kind];
  const called = name === undefined || name === value ? quoted(value) : `${quoted(value)} (${quoted(name)})`;
  if (mapped !== undefined) return `mapping.${kind} names ${quoted(mapped)}, which is no ${word} here.`;
  const what = ofSameName > 1 ? `There are several ${kind} of this name` : `There is no such ${word} here`;
  return `The flow uses the ${word} ${called}. ${what}: name yours in mapping.${kind}.`;
}

const SHOWN_MAX = 100;

function quoted(text: string): string {
  return `“${text.slice(0, SHOWN_MAX).toWellFormed()}”`;
}
