/** The timeline of a person (decision D104). */
import { findSubscriber } from '../../domain/audience/find-subscriber.ts';
import { subscriberRefInput } from '../../domain/audience/subscriber.ts';
import { personTimeline } from '../../domain/tracking/person-timeline.ts';
import {
  timelineKindsInput,
  type TimelineEntry as Entry,
  type TimelineKind as Kind,
  type TimelinePage,
  type TimelinePosition,
} from '../../domain/tracking/timeline.ts';
import { parseInput } from '../../lib/text.ts';
import { builder } from '../builder.ts';
import { closedSet } from '../enums.ts';
import { forwardKeyConnection } from '../key-connection.ts';
import { COUNTED_MAX } from '../limits.ts';

const reading = { scope: 'subscribers:read' } as const;

const TimelineKind = closedSet<Kind>('TimelineKind', 'What happened to a person.', {
  added: 'Came to the list.',
  confirmed: 'Confirmed the address.',
  changed: 'Fields or the address were changed. `what.fields`: their tags; `EMAIL` is the address.',
  tagged: 'Got the tags `what.tags`.',
  untagged: 'Lost the tags `what.tags`.',
  moved: 'Came to another list.',
  unsubscribed: 'Left the list.',
  resubscribed: 'Joined the list again.',
  bounced: 'A mail came back. `what.type`: `hard`, `soft` or `blocked`.',
  complained: 'Called a mail unwanted.',
  suppressed: 'The address was added to the suppression list, and is still on it. `what.reason`: why.',
  event: 'An event from outside: `what.name`, and `what.payload` of up to 4 KiB.',
  mail: 'A mail, with its state and the reason for it, at the time since when it is so.',
  opened: 'Opened a mail.',
  clicked: 'Followed the link `what.url`.',
  flow: 'A step of a run of an automation: `what.step`, `what.node`, `what.reason`.',
});

const TimelineEntry = builder.objectRef<Entry>('TimelineEntry').implement({
  description: 'Something that happened to a person.',
  authScopes: reading,
  fields: (t) => ({
    at: t.expose('at', { type: 'DateTime' }),
    kind: t.expose('kind', { type: TimelineKind }),
    by: t.exposeString('by', {
      nullable: true,
      description:
        'Who or what did it: the source of a consent (`api`, `form`, `link`, `import:<uid>`), `person` or `machine`, `server`, `flow`, or what sent a mail (`campaign`, `automation`, `list`, `transactional`). Null: not known.',
    }),
    what: t.field({
      type: 'JsonObject',
      description: 'What it was, by kind. Values under names of secrets are `***`.',
      resolve: ({ what }) => what,
    }),
  }),
});

builder.queryField('subscriberTimeline', (t) =>
  t.connection(
    {
      type: TimelineEntry,
      description: `What happened to a person, the newest first. Kept as long as events and the ledger are. \`totalCount\` counts up to ${COUNTED_MAX}. Forward only.`,
      authScopes: reading,
      args: {
        subscriber: t.arg.string({ required: true, check: subscriberRefInput }),
        listUid: t.arg.string({ description: 'Needed for an address that is on several lists.' }),
        kinds: t.arg({ type: [TimelineKind], description: 'Only these.', check: timelineKindsInput }),
      },
      resolve: async (_root, { subscriber, listUid, kinds: asked, ...args }, ctx) => {
        const kinds = parseInput(timelineKindsInput.nullable(), asked ?? null);
        const person = await findSubscriber(ctx, { subscriber, listUid });
        const read = (page: TimelinePage) => personTimeline(ctx, person, { ...page, kinds });
        return forwardKeyConnection(args, {
          find: read,
          count: async () => (await read({ after: undefined, limit: COUNTED_MAX, isCounting: true })).length,
          cursorOf: ({ micros, rank, id, no }: Entry) => [micros, rank, id, no].join('.'),
          keyOf: positionOf,
        });
      },
    },
    { name: 'SubscriberTimelineConnection' },
    { name: 'SubscriberTimelineEdge' },
  ),
);

function positionOf(cursor: string): TimelinePosition | undefined {
  const [, micros, rank, id, no] = /^(\d{1,16})\.(\d)\.(\d{1,18})\.(\d{1,9})$/.exec(cursor) ?? [];
  if (micros === undefined || rank === undefined || id === undefined || no === undefined) return undefined;
  return { micros: BigInt(micros), rank: Number(rank), id: BigInt(id), no: Number(no) };
}
