/** The choice among lists is made set-wise: no statement a list. */
import { expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { countStatements, NOISE } from '../support/count-statements.ts';
import { startRestApp } from '../support/rest-app.ts';
import { chooseAll, newChoiceWorld, OFFERED, openPage } from './choice-world.ts';

const app = await startRestApp();
const { db } = app.ctx;

test('the choice takes as many statements for sixty lists as for two', NOISE, async () => {
  const { list, join, linksOn, owner } = await newChoiceWorld(app);
  const own = await list('Own');
  await join(own);
  await join(await list('On', { ...OFFERED, send_goodbye_email: 1, unsubscribe_notification: 1 }));
  const address = (await linksOn(own)).updateProfile();
  const leaveAll = async () => chooseAll(address, await openPage(address));
  const few = await countStatements(leaveAll);
  await db.execute(sql`
      WITH l AS (INSERT INTO mail_list (customer_id, uid, name, default_subject, from_email, from_name, show_in_preferences, send_goodbye_email, unsubscribe_notification)
                 SELECT ${owner.customerId}, lpad(to_hex(${owner.customerId} * 1000 + n), 13, '0'), 'L' || n, 'S', 'a@b.example', 'A', true, true, true FROM generate_series(1, 60) n RETURNING customer_id, id),
           c AS (INSERT INTO hot.list_counter (customer_id, list_id) SELECT customer_id, id FROM l)
      INSERT INTO subscriber (customer_id, list_id, email, email_key, status, tags)
      SELECT customer_id, id, 'ann-' || customer_id || '@person.example', 'ann-' || customer_id || '@person.example', 'subscribed', '{}' FROM l`);
  await db.execute(sql`UPDATE subscriber SET status = 'subscribed' WHERE customer_id = ${owner.customerId}`);
  const page = await openPage(address);
  expect([page.boxes.length, page.boxes[0]?.name]).toEqual([50, 'Own']);
  const many = await countStatements(leaveAll);
  expect(many.statements.length).toBe(few.statements.length);
  expect(few.statements.length).toBeGreaterThan(5);
  const [left] = await queryRows<{ n: number }>(
    db,
    sql`SELECT count(*)::int AS n FROM subscriber WHERE customer_id = ${owner.customerId} AND status = 'unsubscribed'`,
  );
  expect(left?.n).toBe(62);
});
