/** For tests in which it does not matter which customers have switched a plugin on. */
import { sql } from '../../src/db/database.ts';
import type { Context } from '../../src/domain/context.ts';
import { readCustomers } from '../../src/domain/plugins/read-customers.ts';

/** Every customer that there is has switched the plugin (`vendor/name`) on, also before it is active. */
export async function switchedOnByAll(ctx: Context, plugin: string): Promise<void> {
  const [vendor, name] = plugin.split('/');
  await ctx.database.execute(sql`
    INSERT INTO plugin_customer (customer_id, vendor, plugin)
    SELECT id, ${vendor}, ${name} FROM customer ON CONFLICT DO NOTHING`);
  await readCustomers(ctx);
}
