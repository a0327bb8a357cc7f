/**
 * What a plugin's script may do to the database: make things whose names begin with the vendor's prefix, and change or drop what
 * the plugin itself has made. Everything else belongs to the product or to another plugin.
 */
import type { CatalogEntry } from './catalog-read-model.ts';

/** What there was at one moment of the transaction. */
export interface DatabaseState {
  readonly catalog: readonly CatalogEntry[];
  readonly written: readonly { readonly key: string; readonly identity: string; readonly writes: bigint }[];
}

export interface Changes {
  /** What belongs to the plugin afterwards: `table public.acme_note`. */
  readonly objects: readonly string[];
  /** What the script was not allowed to do, in sentences. */
  readonly faults: readonly string[];
}

/** Kinds that have a name of their own, and may be made. */
const NAMED: ReadonlySet<string> = new Set([
  ...['table', 'view', 'materialized view', 'foreign table', 'sequence', 'index'],
  ...['function', 'procedure', 'aggregate', 'type', 'composite type'],
]);

/** Faults that one message names; more would hide the first. */
const FAULTS_MAX = 5;

/** Compares the states before and after a script of a plugin with this prefix, to which `owned` belongs. */
export function checkChanges(
  { before, after }: { readonly before: DatabaseState; readonly after: DatabaseState },
  { prefix, owned }: { readonly prefix: string; readonly owned: readonly string[] },
): Changes {
  const old = byKey(before.catalog);
  const now = byKey(after.catalog);
  const known = new Set(owned);
  const isOwn = (key: string): boolean => {
    const was = old.get(key);
    const entry = was ?? now.get(key);
    if (entry?.ownerKey) return isOwn(entry.ownerKey);
    return was ? known.has(nameOf(was)) : entry !== undefined && NAMED.has(entry.kind);
  };
  const faults: string[] = [];
  for (const key of new Set([...old.keys(), ...now.keys()])) {
    const [was, is] = [old.get(key), now.get(key)];
    if (was && is && was.digest === is.digest) continue;
    if (!isOwn(key)) faults.push(foreignChange(was, is));
    else if (is && NAMED.has(is.kind) && !(is.schema === 'public' && is.name?.startsWith(prefix)))
      faults.push(`makes the ${is.kind} ${is.identity}, whose name does not begin with "${prefix}"`);
  }
  for (const { key, identity, writes } of after.written) {
    const earlier = before.written.find((each) => each.key === key)?.writes ?? 0n;
    if (writes > earlier && !isOwn(key)) faults.push(`changes rows of the table ${identity}`);
  }
  const objects = after.catalog.filter((entry) => NAMED.has(entry.kind) && !entry.ownerKey && isOwn(entry.key));
  return { objects: objects.map(nameOf), faults: faults.slice(0, FAULTS_MAX) };
}

function byKey(catalog: readonly CatalogEntry[]): ReadonlyMap<string, CatalogEntry> {
  return new Map(catalog.map((entry) => [entry.key, entry]));
}

function nameOf({ kind, identity }: CatalogEntry): string {
  return `${kind} ${identity}`;
}

function foreignChange(was: CatalogEntry | undefined, is: CatalogEntry | undefined): string {
  const { kind, identity } = was ?? is ?? { kind: 'object', identity: '' };
  // PostgreSQL's own triggers of a foreign key, on the table that it refers to.
  const referred = /^"RI_ConstraintTrigger_\w+" on (.+)$/.exec(identity)?.[1];
  if (referred !== undefined) return `has a foreign key to the table ${referred}, which changes that table`;
  const verb = was ? (is ? 'changes' : 'drops') : 'makes';
  return `${verb} the ${kind} ${identity}`;
}
