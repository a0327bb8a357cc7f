/** Customers with an invoice to pay through a gateway, on a running product. */
import { sql } from '../../src/db/database.ts';
import { renewSubscriptions } from '../../src/domain/billing/subscriptions/renew-subscriptions.ts';
import { field } from './mail-world.ts';
import type { RestApp, RestTenant } from './rest-app.ts';

export interface DueCustomer extends RestTenant {
  readonly invoice: string;
}

export function gatewayCustomers({ ctx, rest, newTenant }: RestApp) {
  return {
    async newPlan(currency: string, price: string): Promise<string> {
      const body = { name: 'Pro', price, currency_code: currency, frequency_amount: 1, frequency_unit: 'month' };
      return String(field(await rest('/plans', { method: 'POST', body }), 'plan_uid'));
    },
    /** A customer who has chosen the plan, and whose first invoice waits. */
    async dueCustomer(plan: string): Promise<DueCustomer> {
      const tenant = await newTenant({ hasPlan: false });
      const [row] = await ctx.db.query({ uid: 'text' }, sql`SELECT uid FROM customer WHERE id = ${tenant.customerId}`);
      const change = await rest(`/customers/${row?.uid}/change-plan/${plan}`, { method: 'POST', body: {} });
      return { ...tenant, invoice: String(field(change, 'invoice_uid')) };
    },
    /** The invoice, after the vendor was asked. */
    async refresh({ invoice, token }: DueCustomer): Promise<unknown> {
      return field(await rest(`/invoices/${invoice}/refresh`, { method: 'POST', token }), 'invoice');
    },
    /** The next reading of the same payment is not held to be one at the same moment. */
    async later(interval: string): Promise<void> {
      await ctx.db.execute(
        sql`UPDATE payment_intent SET synced_at = synced_at - ${interval}::interval, cancel_said_at = cancel_said_at - ${interval}::interval, next_sync_at = now() - interval '1 second' WHERE next_sync_at IS NOT NULL`,
      );
    },
    /** The next period of a customer who has paid with a saved method has begun; answers the charge and its invoice. */
    async renewed({ customerId }: DueCustomer): Promise<{ readonly intentUid: string; readonly invoice: string }> {
      await ctx.db.execute(
        sql`UPDATE subscription SET current_period_started_at = current_period_started_at - interval '40 days', anchor_at = anchor_at - interval '40 days',
                   current_period_ends_at = current_period_ends_at - interval '40 days', next_step_at = next_step_at - interval '40 days'
             WHERE customer_id = ${customerId}`,
      );
      await renewSubscriptions(ctx);
      const [intent] = await ctx.db.query(
        { uid: 'text', invoice: 'text' },
        sql`SELECT p.uid, i.uid AS invoice FROM payment_intent p JOIN invoice i ON i.customer_id = p.customer_id AND i.id = p.invoice_id
             WHERE p.customer_id = ${customerId} AND p.method_id IS NOT NULL`,
      );
      return { intentUid: intent?.uid ?? '', invoice: intent?.invoice ?? '' };
    },
  };
}
