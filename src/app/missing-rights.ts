/** What to grant when the user of DATABASE_URL may not do what the program needs: the exact statements. */
import pg from 'pg';
import { DatabaseClient } from '../db/client.ts';
import { rightsOf, type Rights } from '../db/rights.ts';

/** SQLSTATE insufficient_privilege. */
const DENIED = '42501';

/** Whether the error, or its cause, is a missing right. */
export function isDenied(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause)
    if ('code' in cause && cause.code === DENIED) return true;
  return false;
}

/** The statements that give the user of `url` the missing rights; undefined when none is missing. */
export async function missingRights(url: string): Promise<string | undefined> {
  const client = new DatabaseClient({ connectionString: url, connectionTimeoutMillis: 10_000 });
  client.on('error', () => undefined);
  try {
    await client.connect();
    return sentenceOf(await rightsOf(client));
  } catch (error) {
    return isDenied(error) ? mayNotConnect(url) : undefined;
  } finally {
    await client.end().catch(() => undefined);
  }
}

function sentenceOf({ role, database, mayCreateSchemas, mayCreateTables, otherOwner }: Rights): string | undefined {
  const [user, name] = [pg.escapeIdentifier(role), pg.escapeIdentifier(database)];
  if (otherOwner !== null)
    return (
      `Tables in the database ${name} belong to the user ${pg.escapeIdentifier(otherOwner)}. ` +
      `Load the dump again with "pg_restore --no-owner" as ${user}, or connect as that user.`
    );
  const grants = [
    ...(mayCreateSchemas ? [] : [`GRANT CREATE ON DATABASE ${name} TO ${user};`]),
    ...(mayCreateTables ? [] : [`GRANT USAGE, CREATE ON SCHEMA public TO ${user};`]),
  ];
  if (grants.length === 0) return undefined;
  return (
    `The user ${user} may not create what Mailwright needs in the database ${name}. Connect to that database as its owner or as a ` +
    `superuser and run: ${grants.join(' ')} Or make the user the owner: ALTER DATABASE ${name} OWNER TO ${user};`
  );
}

function mayNotConnect(url: string): string {
  const { username, pathname } = new URL(url);
  const [user, name] = [username, pathname.slice(1)].map((part) => pg.escapeIdentifier(decodeURIComponent(part)));
  return `The user ${user} may not connect to the database ${name}. As a superuser run: GRANT CONNECT ON DATABASE ${name} TO ${user};`;
}
