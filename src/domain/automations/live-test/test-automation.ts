/** Begins a live test of a flow to a named address (D91). */
import { flowTestJob } from '../../../jobs/automation-jobs.ts';
import { enqueue } from '../../../jobs/define-job.ts';
import { ValidationError } from '../../../lib/errors.ts';
import { emailKey, parseInput } from '../../../lib/text.ts';
import { isSuppressed } from '../../audience/suppression-store.ts';
import { requireRunningPlan } from '../../billing/plans/require-allowed.ts';
import { refuseUnusableSender } from '../../campaigns/send-test-template.ts';
import type { Queryable } from '../../../db/database.ts';
import { inTransaction, type Context } from '../../context.ts';
import { testAddressSuppressed, tooManyFlowTests } from '../automation-errors.ts';
import { checkedPayload } from '../flow/checked-payload.ts';
import { findOwnedAutomation } from '../find-owned-automation.ts';
import { beginningOf, flowOf, whoseValues } from './flow-test-beginning.ts';
import { FLOW_TESTS_RUNNING_MAX, flowTestInput, portsFault, WAIT_SECONDS, type ChosenPorts } from './flow-test.ts';
import { countRunningTests, type FlowTest, type FlowTestKey } from './flow-test-read-model.ts';
import { insertFlowTest } from './flow-test-store.ts';

export interface TestAutomationInput {
  /** To whom all mails go. */
  readonly email: string;
  /** Uid, id or address of a person on the list, whose values are used; by default who has the address, else sample values. */
  readonly subscriber?: string | null | undefined;
  /** Of a published version; absent: the draft. */
  readonly version?: number | null | undefined;
  /** How long each wait takes. */
  readonly waitSeconds?: number | null | undefined;
  /** The ways to take, by the ids of nodes. */
  readonly ports?: unknown;
  readonly payload?: unknown;
  readonly markSubject?: boolean | null | undefined;
}

/**
 * Begins a test; a job takes its steps. Nobody enters, nothing counts and nobody is changed. Throws ValidationError (`ADDRESS_SUPPRESSED`, a sender
 * that cannot be used), FlowFaultsError `FLOW_HAS_FAULTS` of a draft, WrongStateError `AUTOMATION_NOT_PUBLISHED`, RateLimitedError
 * `TOO_MANY_FLOW_TESTS`, ForbiddenError (`subscriber` needs the scope `subscribers:read`), what `requireRunningPlan` throws,
 * `AUTOMATION_NOT_FOUND`, `SUBSCRIBER_NOT_FOUND`.
 */
export async function testAutomation(ctx: Context, uid: string, given: TestAutomationInput): Promise<FlowTest> {
  const { email, version, waitSeconds, ports, markSubject } = given;
  const parsed = parseInput(flowTestInput, { email, version, waitSeconds, ports, markSubject });
  const payload = checkedPayload(given.payload);
  return inTransaction(ctx, async (tx) => {
    // Locked, so that tests are counted one after the other.
    const automation = await findOwnedAutomation(tx, uid, 'change');
    const { customerId, id: automationId, listId } = automation;
    const named = parsed.version ?? null;
    const flow = await flowOf(tx, automation, named);
    const chosen: ChosenPorts = parsed.ports ?? {};
    const fault = portsFault(flow, chosen);
    if (fault !== undefined) throw new ValidationError({ ports: [fault] });
    const subscriberId = await whoseValues(tx, automation, { email: parsed.email, subscriber: given.subscriber });
    await requireRunningPlan(tx.db, customerId);
    if (await isSuppressed(tx.db, { customerId, emailKey: emailKey(parsed.email) }))
      throw testAddressSuppressed(parsed.email);
    await refuseUnusableSender(tx, customerId, listId);
    if ((await countRunningTests(tx.db, { customerId, automationId })) >= FLOW_TESTS_RUNNING_MAX)
      throw tooManyFlowTests(FLOW_TESTS_RUNNING_MAX);
    const state = await beginningOf(tx, automation, { flow, subscriberId });
    const perWait = parsed.waitSeconds ?? WAIT_SECONDS.default;
    const seconds = state.wakeAt === state.since ? 0 : perWait;
    const test = await insertFlowTest(tx.db, {
      ...{ customerId, automationId, flow, subscriberId, payload, ports: chosen, email: parsed.email },
      ...{ version: named, draftVersion: named === null ? automation.draftVersion : null },
      ...{ waitSeconds: perWait, isMarked: parsed.markSubject ?? true, state, seconds },
    });
    await enqueueFlowTest(tx.db, test, seconds);
    return test;
  });
}

/** The next steps of a test, so many seconds from now. */
export async function enqueueFlowTest(db: Queryable, { customerId, id }: FlowTestKey, delaySeconds = 0): Promise<void> {
  const payload = { customerId: String(customerId), testId: String(id) };
  const delay = delaySeconds > 0 ? { delaySeconds } : {};
  await enqueue(db, flowTestJob, payload, { key: `${flowTestJob.name} ${id}`, ...delay });
}
