/** The mail about a declined renewal arrives at the customer's users, through the operator's server. */
import { expect, test, vi } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { paymentMailJob } from '../../src/jobs/billing-jobs.ts';
import { enqueue } from '../../src/jobs/define-job.ts';
import { newUid } from '../../src/lib/ids.ts';
import { gatewayCustomers } from '../support/gateway-customers.ts';
import { startRestApp } from '../support/rest-app.ts';

const app = await startRestApp({ ROLES: 'web,worker,cron', INBOX: 'on', INBOX_SMTP_PORT: '0' });
const { newPlan, dueCustomer } = gatewayCustomers(app);

test('it says why, when the next try is, and how to pay; the link works', async () => {
  const { customerId, invoice } = await dueCustomer(await newPlan('EUR', '19.90'));
  const intentUid = newUid();
  await app.ctx.db.execute(sql`
    WITH i AS (UPDATE invoice SET kind = 'renewal', due_at = '2126-04-08T10:00Z', next_charge_at = '2126-04-02T10:00Z' WHERE uid = ${invoice} RETURNING id),
         g AS (INSERT INTO payment_gateway (uid, type, name) VALUES (${newUid()}, 'acme-pay', 'Card') RETURNING id),
         m AS (INSERT INTO payment_method (customer_id, uid, gateway_id, title, info, sealed_data, digest)
               SELECT ${customerId}, ${newUid()}, g.id, 'Visa <{NAME}>', 'ends in 4242', '', 'd' FROM g RETURNING id, gateway_id)
    INSERT INTO payment_intent (customer_id, uid, invoice_id, method, gateway_id, method_id, status, amount_minor, currency_code, reason, decided_at)
    SELECT ${customerId}, ${intentUid}, i.id, 'acme-pay', m.gateway_id, m.id, 'FAILED', 1990, 'EUR', 'The card was declined.', now() FROM i, m`);
  await enqueue(app.ctx.db, paymentMailJob, { customerId: String(customerId), intentUid });
  const [user] = await queryRows<{ email: string }>(
    app.ctx.db,
    sql`SELECT email FROM app_user WHERE customer_id = ${customerId}`,
  );
  const text = await vi.waitFor(
    async () => {
      const found = await queryRows<{ raw: Buffer }>(
        app.ctx.db,
        sql`SELECT raw FROM inbox.message WHERE ${user?.email ?? ''} = ANY (rcpt_to) AND raw LIKE '%not successful%'::bytea`,
      );
      expect(found).toHaveLength(1);
      return String(found[0]?.raw)
        .replace(/=\r?\n/g, '')
        .replaceAll('=3D', '=');
    },
    { timeout: 120_000, interval: 100 },
  );
  for (const part of ['19.90 EUR', 'ends in 4242', 'The card was declined.', '2126-04-02, 10:00 UTC', '{NAME}'])
    expect(text).toContain(part);
  const [link = ''] = /http:\/\/\S+?\/checkout\/offline\/[\w.~-]+/.exec(text) ?? [];
  const page = await fetch(link.replace(/^http:\/\/[^/]+/, app.baseUrl));
  expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('19.90')]);
});
