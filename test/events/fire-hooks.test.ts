/** EVENT hooks come from the event record: each in one process, with what is true when it is fired, and after a pause as well. */
import { expect, test } from 'vitest';
import { createCustomer } from '../../src/domain/accounts/create-customer.ts';
import { hideCustomer, insertOperator } from '../../src/domain/accounts/customer-store.ts';
import { newUid } from '../../src/lib/ids.ts';
import { silentLog } from '../../src/lib/log.ts';
import { createHookBus } from '../../src/plugin-host/hook-bus.ts';
import { hooksFollower } from '../../src/workers/fire-hooks.ts';
import { caughtUp, startFollowers } from '../support/event-followers.ts';
import { createTestContext } from '../support/test-context.ts';
import { withHooks } from '../support/with-hooks.ts';

test('customer_added: what happened while nobody followed is fired once in all processes, without those deleted meanwhile', async () => {
  const ctx = await createTestContext();
  const newCustomer = (firstName: string) =>
    createCustomer(ctx, { email: `${newUid()}@new.example`, password: 'analytical engine', firstName });
  await insertOperator(ctx.db, newUid());
  const kept = await newCustomer('Zyta');
  const gone = await newCustomer('Gone');
  await hideCustomer(ctx.db, gone.customerId);

  const heard: unknown[] = [];
  const lines: unknown[] = [];
  const log = { ...silentLog, debug: (event: string, fields?: object) => void lines.push({ event, ...fields }) };
  for (const process of [1, 2]) {
    const hooks = createHookBus(silentLog);
    withHooks(hooks, {
      boot: (own) => own.on('customer_added', ({ uid, firstName }) => void heard.push({ process, uid, firstName })),
    });
    await startFollowers(ctx, [hooksFollower({ ...ctx, hooks, log })]);
  }
  await caughtUp(ctx.db, 'hooks');
  expect(heard).toEqual([{ process: expect.any(Number), uid: kept.uid, firstName: 'Zyta' }]);
  expect(lines).toContainEqual({ event: 'hook.not_fired', hook: 'customer_added', reason: 'deleted meanwhile' });
});
