/** What to grant when the user of DATABASE_URL may not do what the program needs: the exact statements. */
import pg from 'pg';
import { DatabaseClient } from '../db/client.ts';

/** SQLSTATE insufficient_privilege. */
const DENIED = '42501';

interface Rights {
  readonly role: string;
  readonly database: string;
  readonly mayCreateSchemas: boolean;
  readonly mayCreateTables: boolean;
  /** The other user to whom tables of the program belong, if any. */
  readonly otherOwner: string | null;
}

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
    const { rows } = await client.query<Rights & pg.QueryResultRow>(`
      SELECT current_user AS role, current_database() AS database,
             has_database_privilege(current_database(), 'CREATE') AS "mayCreateSchemas",
             coalesce(has_schema_privilege(to_regnamespace('public')::oid, 'CREATE'), false)
               AND has_schema_privilege(to_regnamespace('public')::oid, 'USAGE') AS "mayCreateTables",
             (SELECT min(tableowner) FROM pg_tables WHERE schemaname IN ('public', 'hot', 'graphile_worker')
                 AND NOT pg_has_role(tableowner, 'USAGE')) AS "otherOwner"`);
    return rows[0] && sentenceOf(rows[0]);
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
