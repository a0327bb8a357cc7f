/** What one run of an import carries from batch to batch. */
import { sql } from '../../../db/database.ts';
import type { Context, Installation } from '../../context.ts';
import { fieldsOfList } from '../list-field-store.ts';
import { hasMembers, readKnownMembers, type KnownMembers } from './known-members.ts';
import type { ListImport } from './list-import.ts';
import type { RowFrame } from './packed-people.ts';
import { createPersonReader, type PersonReader } from './person.ts';
import { SeenAddresses } from './seen-addresses.ts';
import { tellPlanner } from './tell-planner.ts';

export interface ImportRun {
  readonly found: ListImport;
  readonly installation: Installation;
  readonly list: { readonly customerId: bigint; readonly id: bigint };
  /** How the history names this import. */
  readonly source: `import:${string}`;
  readonly reader: PersonReader;
  /** Stretches of the file that are done, in order; the rest is to do. */
  readonly done: readonly Stretch[];
  /** What every row of a new person begins with. */
  readonly frame: RowFrame;
  /**
   * Present while everybody on the list came from this run, or is among `members`: an address that is not among the seen is new and need not
   * be looked up. Should somebody be added by another way, the database refuses the batch and it is done again.
   */
  seen: SeenAddresses | undefined;
  /** Who was on the list before; absent where everybody is looked up, and where there was nobody. */
  members: KnownMembers | undefined;
  /** Tags that the list knows already. */
  readonly rememberedTags: Set<string>;
  /** The plan's limit of people is close: every batch asks how many more fit before it writes. */
  asksForRoom: boolean;
  /** Members of the list when it was last seen to that the planner knows it. */
  plannerKnows: number;
  /** When watchers were last told, by the monotonic clock. */
  toldAt: number;
}

/** A part of the file, by the offsets of its first byte and of the byte behind its last. */
export interface Stretch {
  readonly start: number;
  readonly end: number;
}

/** Makes ready for the batches of an import. */
export async function beginRun(ctx: Context, found: ListImport): Promise<ImportRun> {
  const list = { customerId: found.customerId, id: found.listId };
  const fields = await fieldsOfList(ctx.db, list);
  const reader = createPersonReader({ columns: found.columns, fields, tag: found.tag });
  const somebody = await hasMembers(ctx.database, found);
  const members = somebody ? await readKnownMembers(ctx.database, found, reader) : undefined;
  const done = await ctx.db.query<{ start: bigint; end: bigint }>(sql`
    SELECT lower(r) AS start, upper(r) AS end FROM mail_list_import i, unnest(i.done) r
     WHERE customer_id = ${found.customerId} AND id = ${found.id} ORDER BY 1`);
  const source = `import:${found.uid}` as const;
  return {
    ...{ found, list, source, reader, installation: ctx.installation },
    done: done.map(({ start, end }) => ({ start: Number(start), end: Number(end) })),
    frame: { prefix: `${list.customerId}\t${list.id}\t${source}\t`, commonTags: reader.commonTags },
    seen: somebody && !members ? undefined : new SeenAddresses(),
    members,
    rememberedTags: new Set(),
    asksForRoom: false,
    plannerKnows: somebody ? await tellPlanner(ctx.db, found) : 0,
    toldAt: 0,
  };
}
