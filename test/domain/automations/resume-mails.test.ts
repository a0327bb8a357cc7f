/** Mails of a stopped flow are let go when it is activated, by a job that ends. */
import { expect, test } from 'vitest';
import { sql } from '../../../src/db/database.ts';
import { resumeMails } from '../../../src/domain/automations/stopping/resume-mails.ts';
import { PRIORITIES } from '../../../src/domain/messages/message.ts';
import { createTestContext } from '../../support/test-context.ts';

const ctx = await createTestContext();
const customerId = 1n;

test('the job of an activation ends, however many mails of the customer wait for the same moment', async () => {
  for (const time of [
    sql`now() - interval '1 minute'`,
    sql`date_trunc('second', now()) + interval '1 hour 7 microseconds'`,
  ])
    await ctx.db.execute(
      sql`INSERT INTO hot.message_queue (message_id, customer_id, priority, not_before)
          SELECT -n - (SELECT count(*) FROM hot.message_queue), ${customerId}, ${PRIORITIES.flow}, ${time} FROM generate_series(1, 1001) n`,
    );
  let slices = 0;
  await resumeMails(ctx, { customerId, automationId: 0n }, () => ++slices > 10);
  await ctx.db.execute(sql`DELETE FROM hot.message_queue WHERE message_id < 0`);
  expect(slices).toBe(2);
});
