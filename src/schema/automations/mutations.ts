/** Changing automations, and letting people in. */
import { subscriberRefInput } from '../../domain/audience/subscriber.ts';
import { copyAutomation } from '../../domain/automations/copy-automation.ts';
import { createAutomation, createAutomationInput } from '../../domain/automations/create-automation.ts';
import { letIntoAutomation } from '../../domain/automations/entries/execute-automation.ts';
import type { FlowFault as Fault } from '../../domain/automations/flow/flow-fault.ts';
import { publishWithMoves } from '../../domain/automations/versions/publish-automation.ts';
import { deleteAutomation } from '../../domain/automations/delete-automation.ts';
import { setAutomationStatus } from '../../domain/automations/stopping/set-automation-status.ts';
import { moveArgs } from './moves.ts';
import { overdueArgs, overdueOf } from './overdue.ts';
import { updateAutomation, updateAutomationInput } from '../../domain/automations/update-automation.ts';
import { runUid } from '../../lib/ids.ts';
import { builder } from '../builder.ts';
import { Automation } from './automation.ts';
import { FlowFault } from './flow-fault.ts';
import { readBack } from './read-back.ts';
import { draftVersionInput } from './draft-version.ts';

const writing = { scope: 'automations:write' } as const;
const NAME = { check: createAutomationInput.shape.name };
const FLOW = 'The draft: triggers, nodes, edges. It may have faults until it is published. At most 256 KiB.';

builder.mutationField('createAutomation', (t) =>
  t.prismaFieldWithInput({
    type: Automation,
    description: 'Makes an automation of a list. It has no effect until its flow is published and it is activated.',
    authScopes: writing,
    typeOptions: { checks: createAutomationInput.shape },
    input: {
      listUid: t.input.string({ required: true }),
      name: t.input.string({ required: true }),
      flow: t.input.field({ type: 'JsonObject', description: `${FLOW} Absent: an empty one.` }),
    },
    resolve: async (query, _root, { input }, ctx) => readBack(ctx, query, await createAutomation(ctx, input)),
  }),
);

builder.mutationField('updateAutomation', (t) =>
  t.prismaFieldWithInput({
    type: Automation,
    description: 'Changes the name and the draft. The published version goes on as it is.',
    authScopes: writing,
    typeOptions: { checks: updateAutomationInput.shape },
    input: {
      uid: t.input.string({ required: true }),
      name: t.input.string(),
      flow: t.input.field({ type: 'JsonObject', description: FLOW }),
      draftVersion: t.input.int({
        description:
          'The version of the draft that you have read, needed with `flow`: when it has another one by now, nothing is changed (`AUTOMATION_CHANGED`).',
        check: draftVersionInput,
      }),
    },
    resolve: async (query, _root, { input: { uid, ...fields } }, ctx) =>
      readBack(ctx, query, await updateAutomation(ctx, uid, fields)),
  }),
);

builder.mutationField('copyAutomation', (t) =>
  t.prismaField({
    type: Automation,
    description: 'Copies the draft into a new automation of the same list. Nobody is in it.',
    authScopes: writing,
    args: {
      uid: t.arg.string({ required: true }),
      name: t.arg.string({ ...NAME, description: 'Of the copy; by default the name of the original with "(copy)".' }),
    },
    resolve: async (query, _root, { uid, name }, ctx) => readBack(ctx, query, await copyAutomation(ctx, uid, { name })),
  }),
);

interface Published {
  readonly uid: string;
  readonly number: number;
  readonly warnings: readonly Fault[];
}

const PublishedAutomation = builder.objectRef<Published>('PublishedAutomation').implement({
  description: 'What was published.',
  authScopes: writing,
  fields: (t) => ({
    uid: t.exposeString('uid', { description: 'The uid of the automation.' }),
    version: t.exposeInt('number', { description: 'The number of the new version.' }),
    warnings: t.field({
      type: [FlowFault],
      description: 'What may be meant so.',
      resolve: ({ warnings }) => [...warnings],
    }),
  }),
});

builder.mutationField('publishAutomation', (t) =>
  t.field({
    type: PublishedAutomation,
    description:
      'Publishes the draft as a new version. People enter it from now on; those inside finish on theirs, or with `moves` are moved to it by a job. Nobody enters by it. A flow or moves with faults are refused, with all of them (`ValidationError.faults`).',
    authScopes: writing,
    args: {
      uid: t.arg.string({ required: true }),
      draftVersion: t.arg.int({
        required: true,
        description: 'The version of the draft that you have read (`AUTOMATION_CHANGED` when it has another one).',
        check: draftVersionInput,
      }),
      ...moveArgs(),
    },
    resolve: async (_root, { uid, draftVersion, moves, moveParked }, ctx) => ({
      uid,
      ...(await publishWithMoves(ctx, uid, { draftVersion, moves, moveParked })),
    }),
  }),
);

builder.mutationField('activateAutomation', (t) =>
  t.prismaField({
    type: Automation,
    description:
      'Lets people in, and those inside go on. Repeating it is harmless. While steps are late by more than an hour, `overdue` is needed (`AUTOMATION_HAS_OVERDUE`).',
    authScopes: writing,
    args: { uid: t.arg.string({ required: true }), ...overdueArgs() },
    resolve: async (query, _root, { uid, ...asked }, ctx) =>
      readBack(ctx, query, await setAutomationStatus(ctx, uid, 'active', overdueOf(asked))),
  }),
);

builder.mutationField('pauseAutomation', (t) =>
  t.prismaField({
    type: Automation,
    description: 'Nobody enters any more, and who is inside stays where they are. Repeating it is harmless.',
    authScopes: writing,
    args: { uid: t.arg.string({ required: true }) },
    resolve: async (query, _root, { uid }, ctx) =>
      readBack(ctx, query, await setAutomationStatus(ctx, uid, 'inactive')),
  }),
);

const DeletedAutomation = builder.objectRef<{ uid: string }>('DeletedAutomation').implement({
  authScopes: writing,
  fields: (t) => ({ uid: t.exposeString('uid') }),
});

builder.mutationField('deleteAutomation', (t) =>
  t.field({
    type: DeletedAutomation,
    description: 'Deletes an automation with its versions and its history. Who is in it leaves it.',
    authScopes: writing,
    args: { uid: t.arg.string({ required: true }) },
    resolve: (_root, { uid }, ctx) => deleteAutomation(ctx, uid),
  }),
);

const AutomationEntry = builder.objectRef<{ runId: bigint }>('AutomationEntry').implement({
  description: 'A person entered an automation.',
  authScopes: writing,
  fields: (t) => ({
    runUid: t.string({ description: 'The new run.', resolve: ({ runId }) => runUid(runId) }),
  }),
});

builder.mutationField('executeAutomation', (t) =>
  t.fieldWithInput({
    type: AutomationEntry,
    description:
      'Lets one person of the list into an automation. Filters of its triggers are skipped, the rules of entry are not: who may not enter is a `WrongStateError` with `NOT_SUBSCRIBED`, `SUPPRESSED`, `ENTERED_BEFORE`, `IN_FLOW`, `TOO_SOON`, `KEY_ENTERED`, `TOO_OFTEN` or `NO_KEY`.',
    authScopes: writing,
    input: {
      uid: t.input.string({ required: true }),
      subscriber: t.input.string({
        required: true,
        description: 'The uid, id or address of a person on the list.',
        check: subscriberRefInput,
      }),
      payload: t.input.field({
        type: 'JsonObject',
        description: 'Read in conditions and mails as `payload.*`. At most 64 KiB.',
      }),
    },
    resolve: (_root, { input: { uid, subscriber, payload } }, ctx) =>
      letIntoAutomation(ctx, uid, { subscriber, payload }),
  }),
);
