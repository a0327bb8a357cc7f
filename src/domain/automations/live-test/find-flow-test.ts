/** Live tests of flows that have begun: finds, lists and ends them. */
import { flowTestIdOf, isUid } from '../../../lib/ids.ts';
import { inTransaction, type Context } from '../../context.ts';
import { flowTestNotFound, flowTestOver } from '../automation-errors.ts';
import { findOwnedAutomation } from '../find-owned-automation.ts';
import { FLOW_TESTS_SHOWN } from './flow-test.ts';
import { findFlowTest, latestFlowTests, type FlowTest } from './flow-test-read-model.ts';
import { endFlowTest } from './flow-test-store.ts';

/** Ends it: no further mail is sent. Throws WrongStateError `FLOW_TEST_OVER`, `FLOW_TEST_NOT_FOUND`, `AUTOMATION_NOT_FOUND`. */
export async function cancelFlowTest(ctx: Context, uid: string, testUid: string): Promise<FlowTest> {
  return inTransaction(ctx, async (tx) => {
    const test = await ownedFlowTest(tx, uid, testUid);
    if (!(await endFlowTest(tx.db, test, { status: 'cancelled' }))) throw flowTestOver();
    return ownedFlowTest(tx, uid, testUid);
  });
}

/** Throws `FLOW_TEST_NOT_FOUND`, `AUTOMATION_NOT_FOUND`. */
export async function ownedFlowTest(ctx: Context, uid: string, testUid: string): Promise<FlowTest> {
  const { customerId, id: automationId } = await findOwnedAutomation(ctx, uid);
  if (!isUid(testUid)) throw flowTestNotFound();
  const test = await findFlowTest(ctx.db, { customerId, automationId, id: flowTestIdOf(testUid) });
  if (!test) throw flowTestNotFound();
  return test;
}

/** The latest ones, the newest first. Throws `AUTOMATION_NOT_FOUND`. */
export async function flowTestsOf(ctx: Context, uid: string): Promise<readonly FlowTest[]> {
  const { customerId, id: automationId } = await findOwnedAutomation(ctx, uid);
  return latestFlowTests(ctx.db, { customerId, automationId }, FLOW_TESTS_SHOWN);
}
