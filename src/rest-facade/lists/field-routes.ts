/** Custom fields of a list (specification 4.2; decisions D16, D58). */
import { created, done } from '../answer.ts';
import { endpoint } from '../endpoint.ts';
import type { Input } from '../input.ts';
import { fromJsonText } from '../json-text.ts';
import type { DataOf } from '../operations.ts';
import { answersBody, answersCreated } from '../shapes.ts';
import { presentOneField } from './present.ts';
import { fieldCreatedShape, fieldDeletedShape } from './shapes.ts';

const OPTIONS =
  '`options` are the possible values of a `dropdown`, `radio`, `multiselect` or `checkbox`: a list, or a text in which commas separate them.';

const addField = {
  path: '/lists/:uid/add-field',
  access: 'token',
  summary: 'Adds a custom field to a list.',
  details: OPTIONS,
  required: ['type', 'label', 'tag'],
  operation: 'AddListField',
  variables: (input: Input) => ({
    input: {
      ...settings(input),
      listUid: input.param('uid'),
      type: input.text('type') ?? '',
      label: input.text('label') ?? '',
      tag: input.text('tag') ?? '',
    },
  }),
} as const;

const fieldCreated = (data: DataOf<'AddListField'>) =>
  ["List's field was created", { field: presentOneField(data.addListField) }] as const;

export const fieldRows = [
  endpoint({
    ...addField,
    method: 'POST',
    answers: answersCreated(fieldCreatedShape),
    present: (data) => created(...fieldCreated(data)),
  }),
  // The specification shows the method both ways.
  endpoint({
    ...addField,
    method: 'GET',
    writes: true,
    answers: answersBody(fieldCreatedShape),
    present: (data) => done(...fieldCreated(data)),
  }),
  endpoint({
    method: 'PATCH',
    path: '/lists/:list_uid/fields/:uid',
    access: 'token',
    summary: 'Changes a custom field, named by uid or tag: only what is given.',
    details: `${OPTIONS} Stored values stay as they are: another type, or fewer options, is a 422 while a stored value or a segment does not fit.`,
    answers: answersBody(fieldCreatedShape),
    operation: 'UpdateListField',
    variables: (input) => ({
      input: {
        ...settings(input),
        listUid: input.param('list_uid'),
        field: input.param('uid'),
        type: input.text('type'),
        label: input.text('label'),
        tag: input.text('tag'),
      },
    }),
    present: ({ updateListField }) => done("List's field was updated", { field: presentOneField(updateListField) }),
  }),
  endpoint({
    method: 'DELETE',
    path: '/lists/:list_uid/fields/:uid',
    access: 'token',
    summary: 'Removes a custom field, named by uid or tag, with its values.',
    details: 'EMAIL cannot be removed. A 422 names the segments, campaigns and automations that use the field.',
    answers: answersBody(fieldDeletedShape),
    operation: 'DeleteListField',
    variables: (input) => ({ listUid: input.param('list_uid'), field: input.param('uid') }),
    present: ({ deleteListField: { uid } }) => done('Deleted', { field_uid: uid }),
  }),
];

function settings(input: Input) {
  return {
    defaultValue: input.nullableText('default_value'),
    required: input.flag('required'),
    visible: input.flag('visible'),
    // An empty one clears.
    customOrder: input.integer('custom_order') ?? (input.has('custom_order') ? null : undefined),
    options: options(input),
  };
}

/** A list (also as JSON text), or a text with commas. */
function options(input: Input): string[] | undefined {
  const given = fromJsonText('options', input.raw('options') ?? null);
  if (!input.has('options') || given === null) return undefined;
  if (typeof given === 'string') return given.split(',').flatMap((option) => option.trim() || []);
  const list: readonly unknown[] = Array.isArray(given) ? given : [undefined];
  const texts = list.filter((option) => typeof option === 'string' || typeof option === 'number');
  if (texts.length < list.length) input.refuse('options', 'The options must be a list of texts.');
  return texts.map(String);
}
