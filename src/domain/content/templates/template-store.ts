/** Reads and writes of templates. */
import { empty, join, sql, type Queryable } from '../../../db/database.ts';
import { assignments, columnsOf, insertion, selectList } from '../../../db/fields.ts';
import { lockUntilCommit } from '../../../db/lock.ts';
import { assert } from '../../../lib/errors.ts';
import { SOURCE_KINDS } from '../../source-key.ts';
import { templateColumns, templateFields, type Template, type TemplateValues } from './template-fields.ts';

const TEMPLATE_ROW = columnsOf(templateColumns);
const COLUMNS = selectList(templateColumns);

/** The customer's template with this uid, or undefined; `lock` locks it until the transaction ends. */
export async function findTemplate(
  db: Queryable,
  { customerId, uid }: { customerId: bigint; uid: string },
  { lock = false }: { lock?: boolean } = {},
): Promise<Template | undefined> {
  const [template] = await db.query(
    TEMPLATE_ROW,
    sql`SELECT ${COLUMNS} FROM template WHERE customer_id = ${customerId} AND uid = ${uid} ${lock ? sql`FOR UPDATE` : empty}`,
  );
  return template;
}

/** Keeps the customer's templates from being deleted until the transaction ends; they may be changed. Returns those that are there. */
export async function holdTemplates(
  db: Queryable,
  customerId: bigint,
  ids: readonly bigint[],
): Promise<ReadonlySet<bigint>> {
  if (ids.length === 0) return new Set();
  const held = await db.query(
    { id: 'bigint' },
    sql`SELECT id FROM template WHERE customer_id = ${customerId} AND id = ANY (${[...ids]}::bigint[]) ORDER BY id FOR KEY SHARE`,
    'templates.hold',
  );
  return new Set(held.map(({ id }) => id));
}

/** Whether a mail that refers to the template waits to be sent. */
export async function hasWaitingMail(
  db: Queryable,
  { customerId, id }: Pick<Template, 'customerId' | 'id'>,
): Promise<boolean> {
  const waiting = await db.execute(
    sql`SELECT 1 FROM hot.message_queue q JOIN hot.message m ON m.customer_id = q.customer_id AND m.id = q.message_id
         WHERE q.customer_id = ${customerId} AND q.priority = ANY (ARRAY(SELECT DISTINCT priority FROM hot.message_queue))
           AND m.source_kind = ${SOURCE_KINDS.transactional} AND m.source_id = ${id} LIMIT 1`,
  );
  return waiting > 0;
}

/** Whether any customer has a template with this uid. */
export async function templateExists(db: Queryable, uid: string): Promise<boolean> {
  return (await db.execute(sql`SELECT 1 FROM template WHERE uid = ${uid}`)) > 0;
}

/** How many templates the customer has; nobody else adds one until the transaction ends. */
export async function lockAndCountTemplates(db: Queryable, customerId: bigint): Promise<number> {
  await lockUntilCommit(db, `templates:${customerId}`);
  const [row] = await db.query(
    { count: 'int' },
    sql`SELECT count(*)::int AS count FROM template WHERE customer_id = ${customerId}`,
  );
  return row?.count ?? 0;
}

export interface NewTemplate extends TemplateValues {
  readonly customerId: bigint;
  readonly uid: string;
  readonly name: string;
  readonly subject: string;
}

export async function insertTemplate(db: Queryable, template: NewTemplate): Promise<void> {
  await db.execute(sql`INSERT INTO template ${insertion(templateColumns, template)}`);
}

/** Writes the given values, and returns the template in its new version. */
export async function writeTemplate(
  db: Queryable,
  { customerId, id }: Pick<Template, 'customerId' | 'id'>,
  values: TemplateValues,
): Promise<Template> {
  const changes = [sql`updated_at = now(), version = version + 1`, ...assignments(templateFields, values)];
  const [row] = await db.query(
    TEMPLATE_ROW,
    sql`UPDATE template SET ${join(changes)} WHERE customer_id = ${customerId} AND id = ${id} RETURNING ${COLUMNS}`,
  );
  assert(row, 'a template that is written is held');
  return row;
}

/** Deletes the template. What refers to it does so by a foreign key, which makes this fail: see `isInUse`. */
export async function eraseTemplate(
  db: Queryable,
  { customerId, id }: Pick<Template, 'customerId' | 'id'>,
): Promise<void> {
  await db.execute(sql`DELETE FROM template WHERE customer_id = ${customerId} AND id = ${id}`);
}

const FOREIGN_KEY_VIOLATION = '23503';

/** Whether deleting failed because a row of another table refers to the template. */
export function isInUse(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === FOREIGN_KEY_VIOLATION;
}
