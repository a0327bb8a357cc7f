/** Flows as documents: exported, imported, and those that come with the product. */
import { z } from 'zod';
import type { RestFlowDocumentFragment } from '../../generated/operations.ts';
import { created, ok } from '../answer.ts';
import { deepObject } from '../deep-object.ts';
import { endpoint } from '../endpoint.ts';
import type { Input } from '../input.ts';
import { answersBody, answersCreated } from '../shapes.ts';
import { automationActionShape, AUTOMATION_CREATED, FLOW_DEPTH_MAX, flowObject, presentActed } from './present.ts';

const documentParts = { format: z.string(), name: z.string(), flow: flowObject, references: flowObject };

const needShape = z.strictObject({
  kind: z.enum(['field', 'event']),
  name: z.string().meta({ description: 'The tag of a field, or the name of an event.' }),
  type: z.string().nullable().meta({ description: 'Of a field.' }),
  description: z.string(),
});

const readyMadeShape = z
  .strictObject({
    name: z.string(),
    title: z.string(),
    description: z.string(),
    needs: z.array(needShape),
    document: z.strictObject(documentParts),
  })
  .meta({ id: 'ReadyMadeFlow' });

const MAPPING =
  '`mapping`: what stands here for something in the document, by kind (`templates`, `lists`, `segments`, `automations`, `campaigns`, `fields`, `events`) and by its name there, such as `{"fields": {"BIRTHDAY": "DATE_OF_BIRTH"}}`. Without it, what has the same uid, tag or name.';

export const flowDocumentRows = [
  endpoint({
    method: 'GET',
    path: '/automations/:uid/export',
    access: 'token',
    summary: 'Shows the draft of an automation as one document, with the names of all that it refers to.',
    answers: answersBody(z.strictObject(documentParts)),
    operation: 'AutomationExport',
    variables: (input) => ({ uid: input.param('uid') }),
    present: ({ automationExport }) => ok(presentDocument(automationExport)),
  }),
  endpoint({
    method: 'POST',
    path: '/automations/import',
    access: 'token',
    summary: 'Makes an automation of a document. It has no effect until it is published and activated.',
    details: `\`document\`: what an export answers; in a form as JSON text. ${MAPPING} What is not found is a 422 on \`mapping\`, all of it together.`,
    answers: answersCreated(automationActionShape),
    required: ['list_uid', 'document'],
    operation: 'ImportAutomation',
    variables: (input) => ({
      input: {
        ...target(input),
        document: deepObject<Record<string, unknown>>(input, 'document', FLOW_DEPTH_MAX) ?? missing(input),
      },
    }),
    present: ({ importAutomation }) => created(AUTOMATION_CREATED, presentActed(importAutomation)),
  }),
  endpoint({
    method: 'GET',
    path: '/ready_made_flows',
    access: 'token',
    summary: 'Lists the flows that come with the product, with their mails and what they need.',
    answers: answersBody(z.array(readyMadeShape)),
    operation: 'ReadyMadeFlows',
    variables: () => ({}),
    present: ({ readyMadeFlows }) =>
      ok(
        readyMadeFlows.nodes.map(({ name, title, description, needs, document }) => ({
          ...{ name, title, description },
          needs: needs.map(({ kind, name: needed, type, description: what }) => {
            return { kind, name: needed, type, description: what };
          }),
          document: presentDocument(document),
        })),
      ),
  }),
  endpoint({
    method: 'POST',
    path: '/ready_made_flows/:ready_made/copy',
    access: 'token',
    summary: 'Makes an automation of a flow that comes with the product, with templates of its mails.',
    details: `\`name\`: by default its title. ${MAPPING}`,
    answers: answersCreated(automationActionShape),
    required: ['list_uid'],
    operation: 'CopyReadyMadeFlow',
    variables: (input) => ({ input: { readyMade: input.param('ready_made'), ...target(input) } }),
    present: ({ copyReadyMadeFlow }) => created(AUTOMATION_CREATED, presentActed(copyReadyMadeFlow)),
  }),
];

/** What is missing is sent as the empty text: the verb then reports it as required. */
function target(input: Input) {
  return { listUid: input.text('list_uid') ?? '', name: input.text('name'), mapping: input.plainObject('mapping') };
}

function missing(input: Input) {
  if (!('document' in input.faults())) input.refuse('document', 'The document field is required.');
  return {};
}

function presentDocument({ format, name, flow, references }: RestFlowDocumentFragment) {
  return { format, name, flow, references };
}
