/** What the user of a connection may do in its database. */
import type pg from 'pg';

export interface Rights {
  readonly role: string;
  readonly database: string;
  readonly mayCreateSchemas: boolean;
  readonly mayCreateTables: boolean;
  /** The other user to whom tables of the program belong, if any. */
  readonly otherOwner: string | null;
}

export async function rightsOf(client: pg.ClientBase): Promise<Rights> {
  const { rows } = await client.query<Rights & pg.QueryResultRow>(`
    SELECT current_user AS role, current_database() AS database,
           has_database_privilege(current_database(), 'CREATE') AS "mayCreateSchemas",
           coalesce(has_schema_privilege(to_regnamespace('public')::oid, 'CREATE'), false)
             AND has_schema_privilege(to_regnamespace('public')::oid, 'USAGE') AS "mayCreateTables",
           (SELECT min(tableowner) FROM pg_tables WHERE schemaname IN ('public', 'hot', 'graphile_worker')
               AND NOT pg_has_role(tableowner, 'USAGE')) AS "otherOwner"`);
  const [rights] = rows;
  if (!rights) throw new Error('The database did not say what its user may do.');
  return rights;
}
