/** Whether the operator's server can be used: its version, and that no pooler shares its connections. */
import pg from 'pg';
import { messageOf } from '../lib/errors.ts';

/** `UNIQUE NULLS NOT DISTINCT`, and planner features that we need, came with 15. */
const SERVER_VERSION_MIN = 150_000;

/** Throws with a sentence that says what to do. */
export async function checkServer(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 10_000 });
  client.on('error', () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<{ version: string }>(`SELECT current_setting('server_version_num') AS version`);
    const version = Number(rows[0]?.version);
    if (version < SERVER_VERSION_MIN)
      throw new Error(`it is version ${Math.floor(version / 10_000)}, and 15 or later is needed`);
    if (await isSharedByTransactions(client, url)) throw new Error(SHARED);
  } catch (error) {
    throw new Error(
      `The database of DATABASE_URL cannot be used: ${messageOf(error)}. ` +
        `Check host, port, name and password, or leave DATABASE_URL empty to use the embedded database.`,
      { cause: error },
    );
  } finally {
    await client.end().catch(() => undefined);
  }
}

const SHARED =
  'the pooler shares server connections between transactions, and Mailwright needs one connection for each session: ' +
  'set pool_mode = session in PgBouncer, or connect to PostgreSQL itself';

/**
 * Whether a connection pooler in transaction mode is in between: then two connections would meet the same server process, or one
 * connection several.
 */
async function isSharedByTransactions(first: pg.Client, url: string): Promise<boolean> {
  const second = new pg.Client({ connectionString: url, connectionTimeoutMillis: 10_000 });
  second.on('error', () => undefined);
  try {
    await second.connect();
    const before = await serverPid(first);
    await second.query('BEGIN');
    const other = await serverPid(second);
    const after = await serverPid(first);
    return other === before || after !== before;
  } finally {
    await second.end().catch(() => undefined);
  }
}

async function serverPid(client: pg.Client): Promise<number | undefined> {
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  return rows[0]?.pid;
}
