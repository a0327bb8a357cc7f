/**
 * Everything that is stored about one person, row by row as in the tables: what a person may ask for. In pages, so that many
 * events are no large answer.
 */
import { z } from 'zod';
import { ValidationError } from '../../../lib/errors.ts';
import { emailAddress, emailKey, parseInput } from '../../../lib/text.ts';
import { viewerOf, type Context } from '../../context.ts';
import { subscribersByAddress } from '../find-subscriber.ts';
import { countPersonalRows, findPerson, PERSONAL_PLACES, personalRows, type Somebody } from './personal-data-store.ts';

export interface PersonalRow {
  /** Without its schema. */
  readonly table: string;
  readonly row: Readonly<Record<string, unknown>>;
}

export interface PersonalData {
  readonly nodes: readonly PersonalRow[];
  /** Where the next page begins; null: this was the last one. */
  readonly next: string | null;
}

/** How many rows each table has of the person. */
export interface PersonalTable {
  readonly table: string;
  readonly rows: number;
}

/** Rows in a page. */
export const PERSONAL_ROWS_MAX = 1_000;

const POSITION = /^(\d{1,2})\.(\d{1,9})$/;

/** A page of what is stored under this address, by table. Throws ValidationError on `email`, `after`. */
export async function personalData(
  ctx: Context,
  { email, after, first }: { email: string; after?: string | null | undefined; first: number },
): Promise<PersonalData> {
  const person = await somebody(ctx, email);
  const limit = Math.min(PERSONAL_ROWS_MAX, Math.max(1, first));
  const nodes: PersonalRow[] = [];
  let { place, offset } = positionOf(after);
  for (; place < PERSONAL_PLACES.length && nodes.length < limit; place++, offset = 0) {
    const found = await rowsFrom(ctx, person, { place, offset, limit: limit - nodes.length });
    nodes.push(...found);
    if (nodes.length === limit) return { nodes, next: `${place}.${offset + found.length}` };
  }
  return { nodes, next: null };
}

/** The tables with rows of the person, each with their number. Throws ValidationError on `email`. */
export async function personalTables(ctx: Context, email: string): Promise<PersonalTable[]> {
  const person = await somebody(ctx, email);
  const rows = await countPersonalRows(ctx.db, person);
  return PERSONAL_PLACES.map(({ table }, no) => ({ table: bareName(table), rows: rows[no] ?? 0 }));
}

async function somebody(ctx: Context, given: string): Promise<Somebody> {
  const { email } = parseInput(z.object({ email: emailAddress() }), { email: given });
  const people = await subscribersByAddress(ctx, email);
  const { customerId } = viewerOf(ctx);
  const subscriberIds = people.map(({ id }) => id);
  return findPerson(ctx.db, { customerIds: [customerId], emailKey: emailKey(email), subscriberIds });
}

async function rowsFrom(
  ctx: Context,
  person: Somebody,
  { place: no, offset, limit }: { place: number; offset: number; limit: number },
): Promise<PersonalRow[]> {
  const place = PERSONAL_PLACES[no];
  if (!place) return [];
  const rows = await personalRows(ctx.db, place, { person, offset, limit });
  return rows.map((row) => ({ table: bareName(place.table), row }));
}

function positionOf(after: string | null | undefined): { place: number; offset: number } {
  if (after === null || after === undefined || after === '') return { place: 0, offset: 0 };
  const [, place, offset] = POSITION.exec(after) ?? [];
  if (place === undefined || offset === undefined)
    throw new ValidationError({ after: ['This position does not belong to this export.'] });
  return { place: Number(place), offset: Number(offset) };
}

function bareName(table: string): string {
  return table.slice(table.indexOf('.') + 1);
}
