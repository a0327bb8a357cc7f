/** Looks back at what people did: the first event, open or click that a run waits for, or leaves by. */
import { firstEvents, type EventSearch } from '../../../events/person-event-read-model.ts';
import type { Context } from '../../context.ts';
import { firstActivity } from '../work/activity-read-model.ts';
import { isActivity } from '../flow/asked-activity.ts';
import { isEventOf, soughtBy } from './flow-event.ts';
import type { AwaitedEvent } from '../flow/flow-parts.ts';
import type { LiveFlow } from './live-flow.ts';
import type { FlowEvent } from '../flow/open-or-click.ts';
import type { Run } from './run.ts';

export interface Looking extends EventSearch {
  readonly run: Run;
  readonly runId: bigint;
}

/** For each search the first one, if there is any. */
export async function firstOf<Search extends Looking>(
  { db }: Pick<Context, 'db'>,
  { key, listId, flow: { entry } }: LiveFlow,
  { asked, searches }: { readonly asked: AwaitedEvent; readonly searches: readonly Search[] },
): Promise<ReadonlyMap<Search, Pick<FlowEvent, 'id' | 'at'>>> {
  if (isActivity(asked)) return firstActivity(db, key, { asked, searches });
  const sought = { customerId: key.customerId, listId, ...soughtBy(asked) };
  return firstEvents(db, sought, { searches, isIt: (event, { run }) => isEventOf(asked, event, { ...run, entry }) });
}
