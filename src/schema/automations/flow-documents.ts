/** Flows as documents: exported, imported, and those that come with the product. */
import { createAutomationInput } from '../../domain/automations/create-automation.ts';
import { exportAutomation } from '../../domain/automations/documents/export-automation.ts';
import type { FlowDocument as Document } from '../../domain/automations/documents/flow-document.ts';
import { importAutomation } from '../../domain/automations/documents/import-automation.ts';
import { makeReadyMade } from '../../domain/automations/ready-made/make-ready-made.ts';
import type {
  Need,
  NEED_KINDS,
  ReadyMadeFlow as ReadyMade,
} from '../../domain/automations/ready-made/ready-made-flow.ts';
import { READY_MADE_FLOWS, readyMadeInput } from '../../domain/automations/ready-made/ready-made-flows.ts';
import { takeContent } from '../answer-content.ts';
import { builder } from '../builder.ts';
import { closedSet, ListFieldType } from '../enums.ts';
import { Automation } from './automation.ts';
import { readBack } from './read-back.ts';

const reading = { scope: 'automations:read' } as const;
const writing = { scope: 'automations:write' } as const;
const checks = createAutomationInput.shape;

const FlowDocument = builder.objectRef<Document>('FlowDocument').implement({
  description: 'A flow as one document, to be kept, or imported into another list or installation.',
  authScopes: reading,
  fields: (t) => ({
    format: t.exposeString('format', { description: 'What kind of document it is, with its version.' }),
    name: t.exposeString('name', { description: 'Of the automation.' }),
    flow: t.field({
      type: 'JsonObject',
      description: 'The graph, of the form that the JSON Schema at `/api/v1/flow.schema.json` describes.',
      resolve: ({ flow }) => flow,
    }),
    references: t.field({
      type: 'JsonObject',
      description:
        'What the uids, tags and names in the graph mean, by kind: `templates`, `lists`, `segments`, `automations`, `campaigns`, `fields`, `events`.',
      resolve: ({ references }) => references,
    }),
  }),
});

builder.queryField('automationExport', (t) =>
  t.field({
    type: FlowDocument,
    description: 'The draft of an automation as one document, with the names of all that it refers to.',
    authScopes: reading,
    args: { uid: t.arg.string({ required: true, description: 'The uid of the automation.' }) },
    resolve: async (_root, { uid }, ctx) => {
      const document = await exportAutomation(ctx, uid);
      await takeContent(ctx, Buffer.byteLength(JSON.stringify(document)));
      return document;
    },
  }),
);

const MAPPING =
  'What stands here for something in the document, by kind and by its name there: `{"fields": {"BIRTHDAY": "DATE_OF_BIRTH"}}`. Absent: what has the same uid, tag or name.';

builder.mutationField('importAutomation', (t) =>
  t.prismaFieldWithInput({
    type: Automation,
    description:
      'Makes an automation of a document. It has no effect until it is published and activated. What is not found here is named on `mapping`, all of it together. Templates are made of texts in the document; that needs `templates:write`.',
    authScopes: writing,
    typeOptions: { checks },
    input: {
      listUid: t.input.string({ required: true }),
      name: t.input.string({ description: 'Absent: that of the document.' }),
      document: t.input.field({ type: 'JsonObject', required: true, description: 'At most 4 MiB.' }),
      mapping: t.input.field({ type: 'JsonObject', description: MAPPING }),
    },
    resolve: async (query, _root, { input }, ctx) => readBack(ctx, query, await importAutomation(ctx, input)),
  }),
);

const NeedKind = closedSet<(typeof NEED_KINDS)[number]>('ReadyMadeNeedKind', 'What a ready-made flow needs.', {
  field: 'A field of the list.',
  event: 'An event that a program reports with `POST /events`.',
});

const ReadyMadeNeed = builder.objectRef<Need>('ReadyMadeNeed').implement({
  description: 'What has to be there before a ready-made flow does its work. Another name is possible: see `mapping`.',
  authScopes: reading,
  fields: (t) => ({
    kind: t.field({ type: NeedKind, resolve: ({ kind }) => kind }),
    name: t.exposeString('name', { description: 'The tag of the field, or the name of the event.' }),
    type: t.expose('type', { type: ListFieldType, nullable: true, description: 'Of a field.' }),
    description: t.exposeString('description'),
  }),
});

const ReadyMadeFlowName = builder.enumType('ReadyMadeFlowName', {
  description: 'A flow that comes with the product.',
  values: Object.fromEntries(READY_MADE_FLOWS.map(({ name, title }) => [name, { description: `${title}.` }])),
});

const ReadyMadeFlow = builder.objectRef<ReadyMade>('ReadyMadeFlow').implement({
  description: 'A flow that comes with the product, with its mails: make an automation of it, and change that.',
  authScopes: reading,
  fields: (t) => ({
    name: t.field({ type: ReadyMadeFlowName, resolve: ({ name }) => name }),
    title: t.exposeString('title'),
    description: t.exposeString('description'),
    needs: t.field({ type: [ReadyMadeNeed], resolve: ({ needs }) => [...needs] }),
    document: t.field({
      type: FlowDocument,
      description: 'The graph, and the texts of its mails.',
      resolve: ({ document }) => document,
    }),
  }),
});

builder.queryField('readyMadeFlows', (t) =>
  t.field({
    type: [ReadyMadeFlow],
    description: 'The flows that come with the product.',
    authScopes: reading,
    resolve: () => [...READY_MADE_FLOWS],
  }),
);

builder.mutationField('copyReadyMadeFlow', (t) =>
  t.prismaFieldWithInput({
    type: Automation,
    description:
      'Makes an automation of a ready-made flow, with templates of its mails (`templates:write` is needed, too). It has no effect until it is published and activated.',
    authScopes: writing,
    typeOptions: { checks },
    input: {
      readyMade: t.input.string({
        required: true,
        description: 'The `name` of one of `readyMadeFlows`.',
        check: readyMadeInput,
      }),
      listUid: t.input.string({ required: true }),
      name: t.input.string({ description: 'Absent: the title of the flow.' }),
      mapping: t.input.field({ type: 'JsonObject', description: MAPPING }),
    },
    resolve: async (query, _root, { input }, ctx) => readBack(ctx, query, await makeReadyMade(ctx, input)),
  }),
);
