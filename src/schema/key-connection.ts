/** Connections whose cursor is the key of a row: every page is found by key, and deleted rows do not move others. */
import { resolveCursorConnection, type ResolveCursorConnectionArgs } from '@pothos/plugin-relay';
import { ValidationError } from '../lib/errors.ts';
import { FIRST_DEFAULT, FIRST_MAX } from './limits.ts';

export type ConnectionArgs = Parameters<typeof resolveCursorConnection>[0]['args'];

/** The rows that a page of a connection needs. */
export interface KeyWindow<Key> {
  readonly after: Key | undefined;
  readonly before: Key | undefined;
  readonly limit: number;
  /** From the end: the rows are wanted in the opposite order. */
  readonly backward: boolean;
}

/** How rows are found by their key, and how a cursor encodes the key. */
interface ByKey<Row, Key> {
  cursorOf(row: Row): string;
  /** Undefined: this is no cursor. */
  keyOf(cursor: string): Key | undefined;
  find(window: KeyWindow<Key>): Promise<readonly Row[]>;
  /** Rows of all pages together: from counters, as numbered pages have them. Called when a document asks. */
  count: Count;
}

type Count = () => number | Promise<number>;

export const NO_CURSOR = 'This is no cursor of this list: take one from its answers.';

/** A page of a connection. Throws ValidationError for an invalid cursor. */
export async function keyConnection<Row, Key>(args: ConnectionArgs, { cursorOf, keyOf, find, count }: ByKey<Row, Key>) {
  const keyIn = (name: 'after' | 'before') => {
    const cursor = args[name];
    if (typeof cursor !== 'string') return undefined;
    const key = keyOf(cursor);
    if (key === undefined) throw new ValidationError({ [name]: [NO_CURSOR] });
    return key;
  };
  const page = await resolveCursorConnection(
    { args, defaultSize: FIRST_DEFAULT, maxSize: FIRST_MAX, toCursor: cursorOf },
    async ({ limit, inverted }: ResolveCursorConnectionArgs) =>
      find({ after: keyIn('after'), before: keyIn('before'), limit, backward: inverted }),
  );
  return { ...page, totalCount: count };
}

/** The same for rows that one id names. */
export function idConnection<Row>(
  args: ConnectionArgs,
  {
    idOf,
    find,
    count,
  }: { idOf(row: Row): bigint; find(window: KeyWindow<bigint>): Promise<readonly Row[]>; count: Count },
) {
  return keyConnection(args, { cursorOf: (row: Row) => String(idOf(row)), keyOf: idIn, find, count });
}

interface ForwardOnly<Row, Key> {
  find(window: { after: Key | undefined; limit: number }): Promise<readonly Row[]>;
  count: Count;
}

/** The same for rows that are read forward only. */
export function forwardConnection<Row>(
  args: ConnectionArgs,
  { idOf, ...rows }: ForwardOnly<Row, bigint> & { idOf(row: Row): bigint },
) {
  return forwardKeyConnection(args, { ...rows, cursorOf: (row: Row) => String(idOf(row)), keyOf: idIn });
}

/** The same with a key of several parts. */
export function forwardKeyConnection<Row, Key>(
  args: ConnectionArgs,
  { find, ...rows }: ForwardOnly<Row, Key> & Pick<ByKey<Row, Key>, 'cursorOf' | 'keyOf'>,
) {
  return keyConnection<Row, Key>(args, {
    ...rows,
    find: async ({ after, before, limit, backward }) => {
      if (backward || before !== undefined)
        throw new ValidationError({ before: ['This connection is read forward: use first and after.'] });
      return find({ after, limit });
    },
  });
}

function idIn(cursor: string): bigint | undefined {
  return /^\d{1,18}$/.test(cursor) ? BigInt(cursor) : undefined;
}
