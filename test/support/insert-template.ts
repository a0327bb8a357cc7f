/** The template of a world. */
import { sql } from '../../src/db/database.ts';
import { newUid } from '../../src/lib/ids.ts';
import type { RestApp } from './rest-app.ts';

export async function insertTemplate({ ctx }: RestApp, customerId: bigint): Promise<{ templateUid: string }> {
  const templateUid = newUid();
  await ctx.db.execute(
    sql`INSERT INTO template (customer_id, uid, name, subject, html) VALUES (${customerId}, ${templateUid}, 'Template', 'Subject', '<p>Hello</p>')`,
  );
  return { templateUid };
}
