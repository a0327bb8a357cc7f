/** The conditions that plugins offer for the rules of segments. */
import {
  segmentConditions,
  type ShownCondition,
  type ShownParameter,
} from '../../domain/plugins/segment-conditions.ts';
import { languageInput, type ShownChoice } from '../../domain/plugins/shown-form.ts';
import { builder } from '../builder.ts';
import { SegmentParameterType } from '../enums.ts';

const READING = { scope: 'lists:read' } as const;
const LABEL = 'Plain text, in the language that was asked for.';

const SegmentParameterOption = builder.objectRef<ShownChoice>('SegmentParameterOption').implement({
  authScopes: READING,
  fields: (t) => ({ value: t.exposeString('value'), label: t.exposeString('label', { description: LABEL }) }),
});

const SegmentParameter = builder.objectRef<ShownParameter>('SegmentParameter').implement({
  description: 'A value that the condition takes.',
  authScopes: READING,
  fields: (t) => ({
    name: t.exposeString('name', { description: 'Its key in `values`.' }),
    label: t.exposeString('label', { description: LABEL }),
    type: t.field({ type: SegmentParameterType, resolve: ({ type }) => type }),
    isRequired: t.exposeBoolean('isRequired'),
    min: t.exposeFloat('min', { nullable: true, description: 'Of a number its smallest value.' }),
    max: t.exposeFloat('max', { nullable: true, description: 'Of a number its largest value; of a text its length.' }),
    options: t.field({
      type: [SegmentParameterOption],
      description: 'Of an option; else none.',
      resolve: ({ options }) => [...options],
    }),
  }),
});

const SegmentCondition = builder.objectRef<ShownCondition>('SegmentCondition').implement({
  description: 'A condition of a plugin, for `pluginCondition` of a rule.',
  authScopes: READING,
  fields: (t) => ({
    plugin: t.exposeString('plugin', { description: '`vendor/name`.' }),
    name: t.exposeString('name'),
    label: t.exposeString('label', { description: LABEL }),
    parameters: t.field({ type: [SegmentParameter], resolve: ({ parameters }) => [...parameters] }),
  }),
});

builder.queryField('segmentConditions', (t) =>
  t.field({
    type: [SegmentCondition],
    description:
      'The conditions that active plugins offer to the caller’s customer for rules of segments: what a front end needs for a form.',
    authScopes: READING,
    args: {
      language: t.arg.string({
        check: languageInput,
        description: "Of the labels, such as `de`; the customer's unless given.",
      }),
    },
    resolve: async (_root, { language }, ctx) => [...(await segmentConditions(ctx, language))],
  }),
);
