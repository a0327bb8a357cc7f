/** With what a live test of a flow begins: the flow, whose values it uses, and where it stands. */
import { ValidationError } from '../../../lib/errors.ts';
import { requireScope } from '../../accounts/require-scope.ts';
import { findSubscriber, subscribersByAddress } from '../../audience/find-subscriber.ts';
import { peopleById } from '../../audience/people-store.ts';
import type { TransactionContext } from '../../context.ts';
import { FlowFaultsError, notPublished } from '../automation-errors.ts';
import type { Automation } from '../automation.ts';
import { checkDraft } from '../flow/check-automation.ts';
import { databaseNow } from '../runs/clock-read-model.ts';
import { firstState } from './flow-test-state.ts';
import type { Flow } from '../flow/flow.ts';
import { liveFlowOf } from '../runs/live-flow.ts';
import { readVersion, zonesOfList } from '../runs/version-read-model.ts';

/** The draft, when it could be published, or a version. */
export async function flowOf(ctx: TransactionContext, automation: Automation, version: number | null): Promise<Flow> {
  if (version === null) {
    const { flow, faults } = await checkDraft(ctx, automation);
    if (!flow) throw new FlowFaultsError(faults);
    return flow;
  }
  if (automation.liveVersion === null) throw notPublished();
  const { customerId, id: automationId } = automation;
  const found = await readVersion(ctx.db, { customerId, automationId, version });
  if (!found) throw new ValidationError({ version: ['The automation has no published version with this number.'] });
  return found.flow;
}

interface Reader {
  readonly email: string;
  readonly subscriber: string | null | undefined;
}

/** Null: sample values. Throws ForbiddenError without the scope `subscribers:read`, `SUBSCRIBER_NOT_FOUND`. */
export async function whoseValues(
  ctx: TransactionContext,
  { listId, listUid }: Automation,
  { email, subscriber }: Reader,
): Promise<bigint | null> {
  const named = subscriber?.trim() ?? '';
  if (named !== '') {
    // The author's subjects and templates can name every field.
    requireScope(ctx, 'subscriber', 'subscribers:read');
    return (await findSubscriber(ctx, { subscriber: named, listUid })).id;
  }
  const people = await subscribersByAddress(ctx, email);
  return people.find((person) => person.listId === listId)?.id ?? null;
}

interface Beginning {
  readonly flow: Flow;
  readonly subscriberId: bigint | null;
}

export async function beginningOf(
  { db }: TransactionContext,
  { customerId, id: automationId, listId, uid }: Automation,
  { flow, subscriberId }: Beginning,
) {
  const live = liveFlowOf({ customerId, automationId, version: 0 }, { uid, listId, flow });
  const zones = await zonesOfList(db, { customerId, listId });
  const people = subscriberId === null ? undefined : await peopleById(db, { customerId, listId, ids: [subscriberId] });
  const fields = (subscriberId === null ? undefined : people?.get(subscriberId)?.fields) ?? {};
  const state = zones && firstState({ live, zones, fields, now: await databaseNow(db) });
  if (!state) throw new ValidationError({ flow: ['The flow has no first node.'] });
  return state;
}
