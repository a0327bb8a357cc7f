/** The automation of a world: published and active, with a valid draft. */
import { sql } from '../../src/db/database.ts';
import { newUid } from '../../src/lib/ids.ts';
import type { RestApp } from './rest-app.ts';

export const FLOW = {
  triggers: [{ type: 'execute' }],
  nodes: [{ id: 'rest', type: 'wait', for: { days: 2 } }],
  edges: [{ from: 'start', to: 'rest' }],
};

export async function insertAutomation(
  { ctx }: RestApp,
  { customerId, listId }: { readonly customerId: bigint; readonly listId: bigint },
): Promise<{ automationUid: string }> {
  const automationUid = newUid();
  const published = { ...FLOW, entry: { mode: 'once' }, edges: [{ from: 'start', port: 'next', to: 'rest' }] };
  const flow = { ...published, goals: [], exits: [], holidays: [], passesMax: 10, layout: {} };
  await ctx.db.execute(sql`
    WITH a AS (INSERT INTO automation (customer_id, list_id, uid, name, status, draft, live_version)
               VALUES (${customerId}, ${listId}, ${automationUid}, 'Automation', 'active', ${JSON.stringify(FLOW)}::jsonb, 1) RETURNING customer_id, id)
    INSERT INTO automation_version (customer_id, automation_id, number, flow) SELECT customer_id, id, 1, ${JSON.stringify(flow)}::jsonb FROM a`);
  return { automationUid };
}
