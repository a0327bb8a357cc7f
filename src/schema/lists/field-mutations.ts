/** Adding, changing and removing the custom fields of a list (decision D58). */
import { addListFieldInput, fieldRefInput, updateListFieldInput } from '../../domain/audience/list-field.ts';
import { addListField } from '../../domain/audience/add-list-field.ts';
import { deleteListField } from '../../domain/audience/delete-list-field.ts';
import { updateListField } from '../../domain/audience/update-list-field.ts';
import { viewerOf } from '../../domain/context.ts';
import { builder } from '../builder.ts';
import { ListFieldType } from '../enums.ts';
import { ListField } from './mail-list.ts';

const TAG = 'Letters, digits and underscores; upper-cased.';
const DEFAULT = 'The value of people who are added without one.';
const REQUIRED = 'Nobody is added without a value, unless there is a default.';
const VISIBLE = 'Shown and accepted on the public pages. By default it is.';
const ORDER = 'Its place among the fields. Fields without one follow in the order they were made.';
const OPTIONS =
  'The possible values of a dropdown, radio, multiselect or checkbox. Those of multiselect and checkbox have no commas.';

builder.mutationField('addListField', (t) =>
  t.prismaFieldWithInput({
    type: ListField,
    description: 'Adds a custom field to a list.',
    authScopes: { scope: 'lists:write' },
    typeOptions: { checks: addListFieldInput.shape },
    input: {
      listUid: t.input.string({ required: true }),
      type: t.input.field({ type: ListFieldType, required: true }),
      label: t.input.string({ required: true }),
      tag: t.input.string({ required: true, description: TAG }),
      defaultValue: t.input.string({ description: DEFAULT }),
      required: t.input.boolean({ description: REQUIRED }),
      visible: t.input.boolean({ description: VISIBLE }),
      customOrder: t.input.int({ description: ORDER }),
      options: t.input.stringList({ description: OPTIONS }),
    },
    resolve: async (query, _root, { input: { listUid, ...field } }, ctx) => {
      const { id } = await addListField(ctx, listUid, field);
      const { customerId } = viewerOf(ctx);
      return ctx.prisma.listField.findUniqueOrThrow({ ...query, where: { customerId_id: { customerId, id } } });
    },
  }),
);

builder.mutationField('updateListField', (t) =>
  t.prismaFieldWithInput({
    type: ListField,
    description:
      'Changes a custom field; what is absent stays. Stored values stay as they are: another type, or fewer options, is refused while a stored value or a segment does not fit.',
    authScopes: { scope: 'lists:write' },
    typeOptions: { checks: { ...updateListFieldInput.shape, field: fieldRefInput } },
    input: {
      listUid: t.input.string({ required: true }),
      field: t.input.string({ required: true }),
      type: t.input.field({ type: ListFieldType }),
      label: t.input.string(),
      tag: t.input.string({ description: 'Cannot be changed; only the tag that it has is accepted.' }),
      defaultValue: t.input.string({ description: `${DEFAULT} Null: none.` }),
      required: t.input.boolean({ description: REQUIRED }),
      visible: t.input.boolean({ description: VISIBLE }),
      customOrder: t.input.int({ description: `${ORDER} Null: none.` }),
      options: t.input.stringList({ description: OPTIONS }),
    },
    resolve: async (query, _root, { input: { listUid, field, ...changes } }, ctx) => {
      const { id } = await updateListField(ctx, { listUid, field }, changes);
      const { customerId } = viewerOf(ctx);
      return ctx.prisma.listField.findUniqueOrThrow({ ...query, where: { customerId_id: { customerId, id } } });
    },
  }),
);

const DeletedListField = builder.objectRef<{ uid: string; tag: string }>('DeletedListField').implement({
  authScopes: { scope: 'lists:write' },
  fields: (t) => ({ uid: t.exposeString('uid'), tag: t.exposeString('tag') }),
});

builder.mutationField('deleteListField', (t) =>
  t.field({
    type: DeletedListField,
    description:
      'Removes a custom field with its values. Refused while a segment, a campaign under way or a setting of the list uses it. The tag can be used again when a job has removed the values.',
    authScopes: { scope: 'lists:write' },
    args: {
      listUid: t.arg.string({ required: true }),
      field: t.arg.string({ required: true, check: fieldRefInput }),
    },
    resolve: (_root, ref, ctx) => deleteListField(ctx, ref),
  }),
);
