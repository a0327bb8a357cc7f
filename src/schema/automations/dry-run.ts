/** The dry run of a draft over what has happened to people. */
import { subscriberRefInput } from '../../domain/audience/subscriber.ts';
import {
  DRY_DAYS_MAX,
  DRY_PEOPLE_MAX,
  dryRunAutomation,
  type DryRun,
} from '../../domain/automations/dry-run/dry-run-automation.ts';
import { DRY_ENTRIES_MAX } from '../../domain/automations/dry-run/dry-run-entries.ts';
import type { DryPath } from '../../domain/automations/dry-run/dry-run.ts';
import type { DryStep } from '../../domain/automations/dry-run/dry-run-walk.ts';
import { subscriberUid } from '../../lib/ids.ts';
import { builder } from '../builder.ts';
import { closedSet } from '../enums.ts';

const reading = { scope: 'automations:read' } as const;

const DryRunEnd = closedSet<DryStep['what']>('DryRunEnd', 'How a stay at a node ends in a dry run.', {
  passed: 'The person goes on, or has come to the end.',
  left: 'The person leaves the flow, by a goal, an exit, or by leaving the list.',
  parked: 'The person stays there because of a fault.',
  waits: 'The person waits there when the virtual clock stops.',
  stopped: 'The dry run took too long and was cut off here.',
});

const DryRunStep = builder.objectRef<DryStep>('DryRunStep').implement({
  description: 'A stay at a node, when it ends.',
  authScopes: reading,
  fields: (t) => ({
    node: t.exposeString('node', { description: 'The id of the node.' }),
    at: t.expose('at', { type: 'DateTime', description: 'By the virtual clock.' }),
    what: t.field({ type: DryRunEnd, resolve: ({ what }) => what }),
    port: t.exposeString('port', { nullable: true, description: 'By which the person goes on.' }),
    reason: t.exposeString('reason', { nullable: true, description: 'A code, as in the history of real runs.' }),
  }),
});

const DryRunPath = builder.objectRef<DryPath>('DryRunPath').implement({
  description: 'The way of one person from one entry, or why they did not enter.',
  authScopes: reading,
  fields: (t) => ({
    subscriberUid: t.string({ resolve: ({ personId }) => subscriberUid(personId) }),
    enteredAt: t.expose('enteredAt', { type: 'DateTime', description: 'When the trigger fired.' }),
    trigger: t.exposeString('trigger', { description: 'The type of the trigger; `execute`: they were let in.' }),
    refused: t.exposeString('refused', {
      nullable: true,
      description: 'Why they did not enter, as `executeAutomation` answers it: such as `entered_before` or `too_soon`.',
    }),
    steps: t.field({ type: [DryRunStep], resolve: ({ steps }) => [...steps] }),
  }),
});

interface NodeCount extends Record<DryStep['what'], number> {
  readonly node: string;
}

const DryRunCount = builder.objectRef<NodeCount>('DryRunCount').implement({
  description: 'How stays at a node ended; their sum is how many there were.',
  authScopes: reading,
  fields: (t) => ({
    node: t.exposeString('node'),
    entered: t.int({ resolve: ({ passed, left, parked, waits, stopped }) => passed + left + parked + waits + stopped }),
    passed: t.exposeInt('passed'),
    left: t.exposeInt('left'),
    parked: t.exposeInt('parked'),
    waits: t.exposeInt('waits'),
    stopped: t.exposeInt('stopped'),
  }),
});

const DryRunType = builder.objectRef<DryRun>('AutomationDryRun').implement({
  description: 'What a draft would have done with people. Nothing was sent and nothing changed.',
  authScopes: reading,
  fields: (t) => ({
    draftVersion: t.exposeInt('draftVersion', { description: 'The version of the draft that was run.' }),
    from: t.expose('from', { type: 'DateTime', description: 'Where the virtual clock began.' }),
    people: t.exposeInt('people', { description: 'How many were looked at; who never came in has no path.' }),
    triggersLeftOut: t.stringList({
      description: 'Types of triggers of the draft of which the past is not kept: nobody came in by them.',
      resolve: ({ leftOut }) => [...leftOut],
    }),
    isCutOff: t.exposeBoolean('isCut', {
      description: `There was more than is shown: more than ${DRY_ENTRIES_MAX} entries of a person, or it took too long.`,
    }),
    paths: t.field({ type: [DryRunPath], resolve: ({ paths }) => [...paths] }),
    counts: t.field({
      type: [DryRunCount],
      description: 'Of the nodes that somebody came to.',
      resolve: ({ counts }) => [...counts].map(([node, count]) => ({ node, ...count })),
    }),
  }),
});

builder.queryField('automationDryRun', (t) =>
  t.field({
    type: DryRunType,
    description: `Goes over what has happened to people from a time in the past on, and lets them into the draft where one of its triggers would have: with filters, payloads and the rules of entry. A virtual clock goes on from there. Rules, waits and time zones are those of real runs, and nothing is sent or changed. Fields, tags and segments are as they are now, and of events that have not happened none comes. Of a segment the first ${DRY_PEOPLE_MAX} people.`,
    authScopes: reading,
    args: {
      uid: t.arg.string({ required: true, description: 'The uid of the automation.' }),
      subscriber: t.arg.string({
        description: 'The uid, id or address of a person on the list: this or `segmentUid`.',
        check: subscriberRefInput,
      }),
      segmentUid: t.arg.string({ description: 'A segment of the list.' }),
      from: t.arg({
        type: 'DateTime',
        description: `Where the virtual clock begins, within the last ${DRY_DAYS_MAX} days; by default 30 days ago.`,
      }),
      withoutTriggers: t.arg.boolean({
        description: 'True: everybody is let in at `from`, as `executeAutomation` does. There is no payload then.',
      }),
    },
    resolve: (_root, { uid, ...input }, ctx) => dryRunAutomation(ctx, uid, input),
  }),
);
