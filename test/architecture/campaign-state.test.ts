/** A campaign's state is written by one module, and by no other statement: neither in the program nor in the database's functions. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { createTestContext } from '../support/test-context.ts';
import { isProduct, readProject } from './project-files.ts';

const MODULE = 'src/domain/campaigns/campaign-state-store.ts';
/** The module's part in the database. */
const FUNCTION = 'reopen_campaigns_without_file';

const STATE = ['status', 'reason_code', 'reason_params', 'wait_kind', 'wait_until'];
/** From the verb to the end of the statement, in a template of TypeScript or a body of SQL. */
const STATEMENT =
  /\b(?:UPDATE\s+(?:ONLY\s+)?(?:public\.)?"?campaign"?\s|INSERT\s+INTO\s+(?:public\.)?"?campaign"?\s*\()[^`;]*/gi;

/** The statements in a text that write one of the columns. */
function statesWritten(text: string): string[] {
  return [...text.matchAll(STATEMENT)].flatMap(([statement]) => {
    const [written = ''] = statement.split(/\sWHERE\s|\sFROM\s|\sVALUES\s|\sSELECT\s/i);
    return STATE.some((column) => new RegExp(`(?<![.\\w])"?${column}"?\\s*[=,)]`).test(written)) ? [statement] : [];
  });
}

test('the check finds what it looks for', () => {
  const written = [
    `UPDATE campaign SET status = 'paused' WHERE id = 1`,
    `UPDATE public.campaign c\n SET updated_at = now(), wait_kind = NULL`,
    `update "campaign" set "wait_until" = now()`,
    `INSERT INTO campaign (customer_id, status) VALUES (1, 'ready')`,
  ];
  for (const statement of written) expect(statesWritten(statement), statement).toHaveLength(1);
  const others = [
    `UPDATE campaign SET segment_id = NULL WHERE status = 'ready'`,
    `UPDATE campaign c SET updated_at = now() FROM campaign_attachment a WHERE c.status = 'paused'`,
    `INSERT INTO campaign (customer_id, name) SELECT 1, status FROM x`,
    `UPDATE campaign_attachment SET status = 'gone'`,
  ];
  for (const statement of others) expect(statesWritten(statement), statement).toEqual([]);
});

test('of the program one module writes it', () => {
  const root = path.resolve(import.meta.dirname, '../..');
  const files = readProject(root).filter(isProduct);
  const written = files.flatMap((file) =>
    statesWritten(readFileSync(path.join(root, file.path), 'utf8')).map(() => file.path),
  );
  expect([...new Set(written)]).toEqual([MODULE]);
});

test('of the functions of the database the one that belongs to it does', async () => {
  const { db } = await createTestContext();
  const functions = await queryRows<{ name: string; body: string }>(
    db,
    sql`
    SELECT p.proname AS name, pg_get_functiondef(p.oid) AS body FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
     WHERE n.nspname IN ('public', 'hot') AND p.prokind IN ('f', 'p')
       AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e')`,
  );
  expect(functions.length).toBeGreaterThan(20);
  expect(functions.filter(({ body }) => statesWritten(body).length > 0).map(({ name }) => name)).toEqual([FUNCTION]);
});
