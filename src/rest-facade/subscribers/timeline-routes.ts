/** The timeline of a person (decision D104). */
import { z } from 'zod';
import type { TimelineKind } from '../../generated/operations.ts';
import { ok } from '../answer.ts';
import { cursorArguments, cursorBody, cursorShape } from '../cursor.ts';
import { endpoint } from '../endpoint.ts';
import type { Input } from '../input.ts';
import { answersBody, timeShape } from '../shapes.ts';
import { textsIn } from '../text-list.ts';
import { restTime } from '../timestamps.ts';

const KINDS = [
  ...(['added', 'confirmed', 'changed', 'tagged', 'untagged', 'moved', 'unsubscribed', 'resubscribed'] as const),
  ...(['bounced', 'complained', 'suppressed', 'event', 'mail', 'opened', 'clicked', 'flow'] as const),
] satisfies readonly TimelineKind[];

const entryShape = z
  .strictObject({
    time: timeShape,
    kind: z.enum(KINDS),
    by: z.string().nullable().meta({ description: 'Who or what did it; null: not known.' }),
    what: z.record(z.string(), z.unknown()),
  })
  .meta({ id: 'TimelineEntry' });

export const timelineRows = [
  endpoint({
    method: 'GET',
    path: '/subscribers/:id/timeline',
    access: 'token',
    summary:
      'Lists what happened to a person, the newest first: changes, mails, opens, clicks, steps through automations.',
    details:
      '`kind`: only these, several with commas: `added`, `confirmed`, `changed`, `tagged`, `untagged`, `moved`, `unsubscribed`, `resubscribed`, `bounced`, `complained`, `suppressed`, `event`, `mail`, `opened`, `clicked`, `flow`. ' +
      '`list_uid`: needed for an address that is on several lists. Goes on with `after`: the `next` of the answer before.',
    answers: answersBody(cursorShape('timeline', entryShape)),
    isIndex: true,
    operation: 'SubscriberTimeline',
    variables: (input) => ({
      subscriber: input.param('id'),
      listUid: input.text('list_uid') || undefined,
      kinds: kindsIn(input),
      ...cursorArguments(input),
    }),
    present: ({ subscriberTimeline }) =>
      ok(
        cursorBody('timeline', subscriberTimeline, ({ at, kind, by, what }) => ({
          time: restTime(at),
          kind,
          by,
          what,
        })),
      ),
  }),
];

function kindsIn(input: Input): TimelineKind[] | undefined {
  const texts = textsIn(input, 'kind') ?? [];
  const unknown = texts.find((text) => !KINDS.some((kind) => kind === text));
  if (unknown !== undefined) input.refuse('kind', `The kind must be one of ${KINDS.join(', ')}.`);
  const kinds = KINDS.filter((kind) => texts.includes(kind));
  return kinds.length > 0 ? kinds : undefined;
}
