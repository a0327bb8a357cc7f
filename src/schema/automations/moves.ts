/** Moving people who are inside to a version that is published, and sending those who have finished to a node (decision D84). */
import type { FlowFault as Fault } from '../../domain/automations/flow/flow-fault.ts';
import { sendToFinishedInput } from '../../domain/automations/versions/finished.ts';
import type { NodeMove } from '../../domain/automations/versions/occupied-nodes.ts';
import { previewMoves, type PreviewedMoves } from '../../domain/automations/versions/preview-moves.ts';
import { finishedPeople, sendToFinished } from '../../domain/automations/versions/send-to-finished.ts';
import { builder } from '../builder.ts';
import { FlowFault } from './flow-fault.ts';

const reading = { scope: 'automations:read' } as const;
const writing = { scope: 'automations:write' } as const;

/** Also of publishing. */
export function moveArgs() {
  return builder.args((t) => ({
    moves: t.field({
      type: 'JsonObject',
      description:
        'Everybody who is inside is moved: an object with the ids of nodes, and the node of the draft to which who is there goes. Each node with people that the draft has not, or with other work, must be named; at others people stay. `{}` names none. At most 1,000.',
    }),
    moveParked: t.boolean({
      description: 'With `moves`: whether those who are parked are moved, too, and stay parked there. By default true.',
    }),
  }));
}

const AutomationNodeMove = builder.objectRef<NodeMove>('AutomationNodeMove').implement({
  description: 'People of an earlier version who are at one node, and where they would go.',
  authScopes: reading,
  fields: (t) => ({
    version: t.exposeInt('version'),
    node: t.exposeString('node'),
    waiting: t.exposeInt('waiting', { description: 'How many are there.' }),
    parked: t.exposeInt('parked', { description: 'How many are parked there.' }),
    to: t.exposeString('to', { nullable: true, description: 'The node of the draft; null: the moves must name one.' }),
  }),
});

const AutomationMoves = builder.objectRef<PreviewedMoves>('AutomationMoves').implement({
  description: 'What publishing the draft with moves would do to people inside.',
  authScopes: reading,
  fields: (t) => ({
    draftVersion: t.exposeInt('draftVersion', { description: 'The draft that was looked at.' }),
    nodes: t.field({
      type: [AutomationNodeMove],
      description:
        'Nodes at which people are, those of the newest version first, at most 1,000. Empty when the draft has faults.',
      extensions: { listLength: 50 },
      resolve: ({ nodes }) => [...nodes],
    }),
    faults: t.field({
      type: [FlowFault],
      description: 'Why publishing with these moves would be refused.',
      resolve: ({ faults }): Fault[] => [...faults],
    }),
  }),
});

builder.queryField('automationMoves', (t) =>
  t.field({
    type: AutomationMoves,
    description:
      'Shows where everybody who is inside would go by publishing the draft with these moves. Changes nothing.',
    authScopes: reading,
    args: { uid: t.arg.string({ required: true, description: 'The uid of the automation.' }), ...moveArgs() },
    resolve: (_root, { uid, moves, moveParked }, ctx) =>
      previewMoves(ctx, uid, { moves, moveParked: moveParked ?? true }),
  }),
);

interface People {
  readonly uid: string;
  readonly people: number;
}

const AutomationFinished = builder.objectRef<People>('AutomationFinished').implement({
  description: 'People who have gone through an earlier version of an automation to its end.',
  authScopes: reading,
  fields: (t) => ({
    uid: t.exposeString('uid', { description: 'The uid of the automation.' }),
    people: t.exposeInt('people', {
      description: 'How many they are. Who is inside again, or gets no mail of the list, is none of them.',
    }),
  }),
});

builder.queryField('automationFinished', (t) =>
  t.field({
    type: AutomationFinished,
    description:
      'Counts the people who have gone through an earlier version to its end. Publishing lets none of them in: `sendToFinished` does.',
    authScopes: reading,
    args: { uid: t.arg.string({ required: true, description: 'The uid of the automation.' }) },
    resolve: async (_root, { uid }, ctx) => ({ uid, people: await finishedPeople(ctx, uid) }),
  }),
);

const SentToFinished = builder.objectRef<People>('SentToFinished').implement({
  description: 'People who have finished are let in again, by a job.',
  authScopes: writing,
  fields: (t) => ({
    uid: t.exposeString('uid', { description: 'The uid of the automation.' }),
    people: t.exposeInt('people', { description: 'How many; 0: there were none.' }),
  }),
});

builder.mutationField('sendToFinished', (t) =>
  t.field({
    type: SentToFinished,
    description:
      'Lets everybody who has gone through an earlier version to its end in at a node of the live one, once, whatever the rule of entry is. What was done for them is not done again. When more have finished by now than `people`, nobody enters (`MORE_HAVE_FINISHED`).',
    authScopes: writing,
    args: {
      uid: t.arg.string({ required: true, description: 'The uid of the automation.' }),
      node: t.arg.string({
        required: true,
        description: 'A node of the version that people enter.',
        check: sendToFinishedInput.shape.node,
      }),
      people: t.arg.int({
        required: true,
        description: 'How many you have seen that they are (`automationFinished`).',
        check: sendToFinishedInput.shape.people,
      }),
    },
    resolve: async (_root, { uid, node, people }, ctx) => ({
      uid,
      people: await sendToFinished(ctx, uid, { node, people }),
    }),
  }),
);
