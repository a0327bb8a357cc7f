/**
 * Who is on the list and what is known of them, as sixteen bytes each: a hash of the address and one of the values that
 * the file has columns for. A file that is imported again is compared with these, and asks the database for nobody. A
 * hash can only say "the same": whoever is not is looked up as ever, and somebody who was changed meanwhile keeps that
 * change, as if the line had come before it.
 */
import { sql, type Database, type Queryable, type Sql } from '../../../db/database.ts';
import { assert } from '../../../lib/errors.ts';
import { EVERY_CUSTOMER } from '../suppression.ts';
import type { ListImport } from './list-import.ts';
import type { PackedPeople } from './packed-people.ts';
import type { PersonReader } from './person.ts';

export type Comparison = 'absent' | 'other' | 'same';

/** 64 MB of slots. Larger lists are looked up person by person. */
const MEMBERS_MAX = 2_000_000;
/** To read a member costs a fifth of looking a person up; a line has some 80 bytes. */
const BYTES_PER_MEMBER_MIN = 20;
const PAGE = 20_000;
const DIGEST_BYTES = 16;
/** Of 32 bits: low and high of the address, low and high of the values. */
export const DIGEST_WORDS = 4;

export class KnownMembers {
  /** Open slots of four words: the address's hash, low and high, then that of the values; zeros where nobody is known. */
  readonly #slots: Uint32Array;
  readonly #mask: number;
  readonly #probe = new Uint32Array(DIGEST_WORDS);
  readonly #names: readonly Buffer[];

  /** `tags` of the fields that are compared, in the order in which their values are hashed. */
  constructor(membersMax: number, tags: readonly string[]) {
    this.#names = tags.map((tag) => Buffer.from(`${JSON.stringify(tag)}:"`));
    const slots = 2 ** Math.ceil(Math.log2(Math.max(16, membersMax * 1.5)));
    this.#slots = new Uint32Array(slots * DIGEST_WORDS);
    this.#mask = slots - 1;
  }

  /** Takes in digests as the database writes them: two big-endian numbers of 64 bits each. */
  add(digests: Buffer): void {
    for (let at = 0; at < digests.length; at += DIGEST_BYTES) {
      const low = digests.readUInt32BE(at + 4);
      const high = digests.readUInt32BE(at);
      const slot = this.#slotOf(low, high);
      this.#slots[slot] = low;
      this.#slots[slot + 1] = high;
      this.#slots[slot + 2] = digests.readUInt32BE(at + 12);
      this.#slots[slot + 3] = digests.readUInt32BE(at + 8);
    }
  }

  /** Nobody with these addresses (a number of 64 bits each) is the same from now on. */
  forget(addresses: Buffer): void {
    for (let at = 0; at < addresses.length; at += DIGEST_BYTES / 2) {
      const slot = this.#slotOf(addresses.readUInt32BE(at + 4), addresses.readUInt32BE(at));
      this.#slots.fill(0, slot + 2, slot + DIGEST_WORDS);
    }
  }

  /** Compares a row of a batch. */
  compare(people: PackedPeople, row: number): Comparison {
    const isSaid = people.digest(row, this.#names, this.#probe);
    return this.compareDigest(this.#probe, isSaid);
  }

  /**
   * Compares what a line says; `isSaid`: the hash of the values is one. Somebody who differs is going to be looked up, and
   * maybe changed: nothing is known of them from then on, so lines are compared in the order in which they come.
   */
  compareDigest(digest: Uint32Array, isSaid = true): Comparison {
    const slot = this.#slotOf(digest[0] ?? 0, digest[1] ?? 0);
    if (this.#slots[slot] === 0 && this.#slots[slot + 1] === 0) return 'absent';
    if (isSaid && this.#slots[slot + 2] === digest[2] && this.#slots[slot + 3] === digest[3]) return 'same';
    this.#slots[slot + 2] = 0;
    this.#slots[slot + 3] = 0;
    return 'other';
  }

  /** Where this address is, or the free slot where it belongs. */
  #slotOf(low: number, high: number): number {
    for (let slot = low & this.#mask; ; slot = (slot + 1) & this.#mask) {
      const at = slot * DIGEST_WORDS;
      const isFree = this.#slots[at] === 0 && this.#slots[at + 1] === 0;
      if (isFree || (this.#slots[at] === low && this.#slots[at + 1] === high)) return at;
    }
  }
}

/** Everybody on the list, where that is worth it: undefined where the file is small beside it, or gives more than values. */
export async function readKnownMembers(
  db: Database,
  found: ListImport,
  reader: PersonReader,
): Promise<KnownMembers | undefined> {
  const givesMore = reader.statusAt !== -1 || reader.tagsAt !== -1 || reader.commonTags.length > 0;
  if (givesMore || !found.updateExisting) return undefined;
  const [counted] = await db.query<{ members: number }>(sql`
    SELECT (subscribed + unsubscribed + unconfirmed + pending)::int AS members FROM hot.list_counter
     WHERE customer_id = ${found.customerId} AND list_id = ${found.listId}`);
  const count = counted?.members ?? 0;
  const isLarge = count > MEMBERS_MAX || count * BYTES_PER_MEMBER_MIN > Number(found.bytesTotal);
  if (count === 0 || isLarge) return undefined;
  // Those who are added meanwhile find room too.
  const tags = reader.fieldColumns.map(({ tag }) => tag);
  const known = new KnownMembers(count, tags);
  const values = hashOfValues(tags);
  const halves = await inOrderOfIds(db, (tx) => halvesOf(tx, found));
  const isWhole = await Promise.all(
    halves.map((half) => inOrderOfIds(db, (tx) => readHalf(tx, found, { ...half, values, known, left: count }))),
  );
  return isWhole.every(Boolean) && (await forgetSuppressed(db, found, known)) ? known : undefined;
}

/** Whoever is suppressed is to be rejected, on the list or not. False when they are too many to be read. */
async function forgetSuppressed(db: Queryable, { customerId }: ListImport, known: KnownMembers): Promise<boolean> {
  for (const keeper of [customerId, EVERY_CUSTOMER]) {
    let read = 0;
    for (let after = ''; ;) {
      const [page] = await db.query<{ last: string | null; addresses: Buffer | null }>(sql`
        SELECT max(email_key) AS last, string_agg(int8send(hashtextextended(email_key, 0)), '') AS addresses
          FROM (SELECT email_key FROM suppression WHERE customer_id = ${keeper} AND email_key > ${after} ORDER BY email_key LIMIT ${PAGE}) p`);
      if (!page || page.last === null || page.addresses === null) break;
      read += PAGE;
      if (read > MEMBERS_MAX) return false;
      known.forget(page.addresses);
      after = page.last;
    }
  }
  return true;
}

/** Whether there is anybody. */
export async function hasMembers(db: Database, { customerId, listId }: ListImport): Promise<boolean> {
  const rows = await inOrderOfIds(db, (tx) =>
    tx.query(sql`
      SELECT 1 FROM subscriber WHERE customer_id = ${customerId} AND list_id = ${listId} ORDER BY id LIMIT 1`),
  );
  return rows.length > 0;
}

/**
 * Statements that read a list in the order of ids. Without sorting only the key answers in it: a planner that takes the list
 * for empty would as soon collect and sort all of it for every page, or look for the first among a million that are deleted.
 */
function inOrderOfIds<Answer>(db: Database, read: (tx: Queryable) => Promise<Answer>): Promise<Answer> {
  return db.transaction(async (tx) => {
    await tx.query(sql`SELECT set_config('enable_sort', 'off', true)`);
    return read(tx);
  });
}

/** Ids from `from` to `to`. */
interface Half {
  readonly from: bigint;
  readonly to: bigint;
}

/** Two, for two cores of the database. */
async function halvesOf(db: Queryable, { customerId, listId }: ListImport): Promise<readonly Half[]> {
  const members = sql`SELECT id FROM subscriber WHERE customer_id = ${customerId} AND list_id = ${listId}`;
  const [ids] = await db.query<{ first: bigint | null; last: bigint | null }>(
    sql`SELECT (${members} ORDER BY id LIMIT 1) AS first, (${members} ORDER BY id DESC LIMIT 1) AS last`,
  );
  if (!ids || ids.first === null || ids.last === null) return [];
  const middle = (ids.first + ids.last) / 2n;
  return [
    { from: ids.first, to: middle },
    { from: middle + 1n, to: ids.last },
  ];
}

interface Reading extends Half {
  readonly values: Sql;
  readonly known: KnownMembers;
  /** More are too many. */
  readonly left: number;
}

/** False when there were more than are counted: the table has no room for them. */
async function readHalf(
  db: Queryable,
  found: ListImport,
  { from, to, values, known, left }: Reading,
): Promise<boolean> {
  let read = 0;
  for (let next = from; ;) {
    const page = await readPage(db, found, { values, from: next, to });
    if (page.lastId === null || page.digests === null) return true;
    read += page.digests.length / DIGEST_BYTES;
    if (read > left) return false;
    known.add(page.digests);
    next = page.lastId + 1n;
  }
}

interface Page extends Record<string, unknown> {
  readonly lastId: bigint | null;
  readonly digests: Buffer | null;
}

async function readPage(
  db: Queryable,
  { customerId, listId }: ListImport,
  { values, from, to }: { values: Sql } & Half,
): Promise<Page> {
  const [page] = await db.query<Page>(sql`
    SELECT max(id) AS "lastId", string_agg(int8send(hashtextextended(email_key, 0)) || int8send(${values}), '') AS digests
      FROM (SELECT id, email_key, fields FROM subscriber
             WHERE customer_id = ${customerId} AND list_id = ${listId} AND id >= ${from} AND id <= ${to} ORDER BY id LIMIT ${PAGE}) p`);
  assert(page, 'an aggregate answers one row');
  return page;
}

/** The person's values of the file's columns in eight bytes, as `hashValues` says it of a line. */
function hashOfValues(tags: readonly string[]): Sql {
  return tags.reduce(
    (seed, tag) => sql`hashtextextended(coalesce(fields ->> ${tag}::text, ''), ${seed})`,
    sql`0::bigint`,
  );
}
