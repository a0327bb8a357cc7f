/** The roles of plugins: each owns what the plugin's migrations have made, and nothing else. */
import { raw, row, sql, type Queryable } from '../../db/database.ts';
import type { PluginLogin } from './plugin-login.ts';

const ROLE_RIGHTS_ROW = row({
  database: 'text',
  isSuperuser: 'bool',
  /** Whether this user may make roles and let them create tables for a moment. */
  mayMakeRoles: 'bool',
  schemaQuoted: 'text',
});

/** The database's name, and what the user of the connection may do. */
export async function roleRights(db: Queryable) {
  const [found] = await db.query(
    ROLE_RIGHTS_ROW,
    sql`
    SELECT current_database()::text AS database, rolsuper AS "isSuperuser", quote_ident('public') AS "schemaQuoted",
           rolsuper OR (rolcreaterole AND has_schema_privilege('public', 'CREATE WITH GRANT OPTION')
                                      AND has_schema_privilege('public', 'USAGE WITH GRANT OPTION')) AS "mayMakeRoles"
      FROM pg_roles WHERE rolname = current_user`,
  );
  if (!found) throw new Error('The database did not say what its user may do.');
  return found;
}

/** Makes the role, or gives the one that is there its password anew. Throws a sentence when another program's role has its name. */
export async function ensureRole(tx: Queryable, { role, password }: PluginLogin, verifier: string): Promise<void> {
  const [found] = await tx.query(
    { quoted: 'text', verifier: 'text', isOther: 'bool', exists: 'bool', database: 'text', mayConnect: 'bool' },
    sql`
    SELECT quote_ident(${role}) AS quoted, quote_literal(${verifier}) AS verifier, quote_ident(current_database()) AS database,
           r.oid IS NOT NULL AS exists, coalesce(r.rolsuper OR r.rolcreaterole OR r.rolcreatedb OR r.rolbypassrls, false) AS "isOther",
           has_database_privilege('public', current_database(), 'CONNECT') AS "mayConnect"
      FROM (SELECT 1) one LEFT JOIN pg_roles r ON r.rolname = ${role}`,
  );
  if (!found || password === '') throw new Error('The role has no name.');
  if (found.isOther) throw new Error(`The role ${found.quoted} of the database server is not a plugin's.`);
  await tx.execute(
    found.exists
      ? raw(`ALTER ROLE ${found.quoted} LOGIN PASSWORD ${found.verifier}`)
      : raw(`CREATE ROLE ${found.quoted} LOGIN NOINHERIT PASSWORD ${found.verifier}`),
  );
  await tx.execute(raw(`GRANT USAGE ON SCHEMA public TO ${found.quoted}`));
  if (!found.mayConnect) await tx.execute(raw(`GRANT CONNECT ON DATABASE ${found.database} TO ${found.quoted}`));
}

/** Gives the role all that the plugin's migrations have made. Others than superusers need rights of the role and on the schema for that. */
export async function giveObjects(
  tx: Queryable,
  { role }: Pick<PluginLogin, 'role'>,
  { objects, isSuperuser }: { readonly objects: readonly string[]; readonly isSuperuser: boolean },
): Promise<void> {
  const [quoted] = await tx.query({ role: 'text' }, sql`SELECT quote_ident(${role}) AS role`);
  const name = quoted?.role ?? '';
  const statements = await ownerStatements(tx, objects, role);
  if (!isSuperuser) {
    await tx.execute(raw(`GRANT ${name} TO CURRENT_USER`));
    await tx.execute(raw(`GRANT CREATE ON SCHEMA public TO ${name}`));
  }
  for (const { statement } of statements) await tx.execute(raw(statement));
  if (!isSuperuser) await tx.execute(raw(`REVOKE CREATE ON SCHEMA public FROM ${name}`));
}

/** Whether the role owns all of them. */
export async function belongTo(tx: Queryable, objects: readonly string[], { role }: PluginLogin): Promise<boolean> {
  return (await ownerStatements(tx, objects, role)).length === 0;
}

/** Objects are those of a plugin's record, such as `table public.acme_note`. What belongs to the role already is left out. */
function ownerStatements(tx: Queryable, objects: readonly string[], role: string) {
  return tx.query(
    { statement: 'text' },
    sql`
    WITH object AS (
      SELECT o[1] AS kind, o[2] AS identity
        FROM regexp_matches(array_to_string(${[...objects]}::text[], E'\n'), '^(table|view|materialized view|foreign table|sequence|function|procedure|aggregate|composite type|type) (.+)$', 'gn') o
    )
    SELECT format('ALTER TABLE %s OWNER TO %I', c.oid::regclass, ${role}::text) AS statement
      FROM object o JOIN pg_class c ON c.oid = to_regclass(o.identity)
     WHERE o.kind IN ('table', 'view', 'materialized view', 'foreign table', 'sequence') AND pg_get_userbyid(c.relowner) <> ${role}
           -- A sequence of a column goes with its table; parts of a table do not.
           AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE c.relkind = 'S' AND d.classid = 'pg_class'::regclass AND d.objid = c.oid
                              AND d.refclassid = 'pg_class'::regclass AND d.deptype IN ('a', 'i'))
    UNION ALL
    SELECT format('ALTER ROUTINE %s OWNER TO %I', p.oid::regprocedure, ${role}::text)
      FROM object o JOIN pg_proc p ON p.oid = to_regprocedure(o.identity)
     WHERE o.kind IN ('function', 'procedure', 'aggregate') AND pg_get_userbyid(p.proowner) <> ${role}
    UNION ALL
    SELECT format('ALTER TYPE %s OWNER TO %I', t.oid::regtype, ${role}::text)
      FROM object o JOIN pg_type t ON t.oid = to_regtype(o.identity)
     WHERE o.kind IN ('composite type', 'type') AND pg_get_userbyid(t.typowner) <> ${role}`,
  );
}

/** Drops the role with all that it still owns, if it is there. */
export async function dropRole(tx: Queryable, { role }: Pick<PluginLogin, 'role'>): Promise<void> {
  const [found] = await tx.query(
    { quoted: 'text' },
    sql`SELECT quote_ident(rolname) AS quoted FROM pg_roles WHERE rolname = ${role} AND NOT rolsuper`,
  );
  if (!found) return;
  await tx.execute(raw(`DROP OWNED BY ${found.quoted}`));
  await tx.execute(raw(`DROP ROLE ${found.quoted}`));
}
