/**
 * Events from outside that begin a flow whose entries have keys (`per_key`), without the value at its key: nobody enters by them (D70). Who sends
 * the event is the one who can change that, so the answer says it.
 */
import type { PersonEvent } from '../../../events/person-event.ts';
import type { TransactionContext } from '../../context.ts';
import { activeVersions } from '../automation-read-model.ts';
import { mayStart } from './enter-by-events.ts';
import { entryKeyOf } from '../flow/entry-key.ts';
import { liveFlow, type LiveFlow } from '../runs/live-flow.ts';

/** Of the lists of one call: versions are kept by the process (live-flow.ts), so that a look at them costs little. */
const FLOWS_MAX = 200;

export type RecordedEvent = Pick<PersonEvent, 'personId' | 'name' | 'data' | 'at' | 'startsFlows'>;

interface KeyedFlow {
  readonly live: LiveFlow;
  readonly name: string;
}

/** For an event of this list the sentence that its answer has; null: nothing is wrong. */
export type NoteOf = (listId: bigint, event: RecordedEvent) => string | null;

/** Reads the active flows of these lists. */
export async function keylessNotes(
  ctx: TransactionContext,
  { customerId, listIds }: { readonly customerId: bigint; readonly listIds: readonly bigint[] },
): Promise<NoteOf> {
  const flows: KeyedFlow[] = [];
  for (const { id, version, name } of await activeVersions(ctx.db, { customerId, listIds, max: FLOWS_MAX })) {
    const live = await liveFlow(ctx, { customerId, automationId: id, version });
    if (live?.flow.entry.mode === 'per_key') flows.push({ live, name });
  }
  return (listId, event) => {
    const keyless = flows.find(({ live }) => live.listId === listId && isKeyless(live, event));
    return keyless ? sentenceOf(keyless) : null;
  };
}

function isKeyless(live: LiveFlow, event: RecordedEvent): boolean {
  const recorded = { ...event, kind: 'event', id: 0n, recordedAt: event.at, depth: 0 } as const;
  return mayStart(live, recorded) && entryKeyOf(event.data, live.flow.entry) === '';
}

function sentenceOf({ live, name }: KeyedFlow): string {
  const { entry } = live.flow;
  const key = entry.mode === 'per_key' ? entry.key : '';
  return `Recorded, but nobody enters the automation “${name}” by it: the payload has no value at “${key}”, the key of its entries.`;
}
