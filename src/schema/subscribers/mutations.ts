/** Changing subscribers, named by uid, id or address; an address on several lists needs the list. */
import {
  addSubscriberInput,
  subscriberRefInput,
  tagsInput,
  updateSubscriberInput,
} from '../../domain/audience/subscriber.ts';
import { addSubscriber } from '../../domain/audience/add-subscriber.ts';
import { deleteSubscriber } from '../../domain/audience/delete-subscriber.ts';
import { subscribeSubscriber } from '../../domain/audience/subscribe-subscriber.ts';
import { tagSubscriber, untagSubscriber } from '../../domain/audience/tag-subscriber.ts';
import { unsubscribeFromLists, unsubscribeSubscriber } from '../../domain/audience/unsubscribe-subscriber.ts';
import { updateSubscriber } from '../../domain/audience/update-subscriber.ts';
import type { Subscriber as SubscriberRow, SubscriberRef } from '../../domain/audience/subscriber.ts';
import type { Context } from '../../domain/context.ts';
import { subscriberUid } from '../../lib/ids.ts';
import { builder } from '../builder.ts';
import { SettableSubscriberStatus } from '../enums.ts';
import { Subscriber } from './subscriber.ts';

const SCOPE = { scope: 'subscribers:write' } as const;
const IGNORE_UNKNOWN = 'Leave out values for what is no field of the list, instead of refusing them.';

const refArgs = () =>
  builder.args((t) => ({
    subscriber: t.string({ required: true, check: subscriberRefInput }),
    listUid: t.string({ description: 'Needed for an address that is on several lists.' }),
  }));

builder.mutationField('addSubscriber', (t) =>
  t.fieldWithInput({
    type: Subscriber,
    description:
      'Puts a person on a list: subscribed, or pending with a confirmation mail where the list wants double opt-in. With the ' +
      'status `unsubscribed` or `unconfirmed` the person gets no mail.',
    authScopes: SCOPE,
    typeOptions: { checks: { ...addSubscriberInput.shape, email: addSubscriberInput.shape.EMAIL } },
    input: {
      listUid: t.input.string({ required: true }),
      email: t.input.string({ required: true }),
      fieldValues: t.input.field({ type: 'JsonObject', description: 'Values by tag.' }),
      tags: t.input.stringList(),
      status: t.input.field({ type: SettableSubscriberStatus, description: '`subscribed` unless given.' }),
      ipAddress: t.input.string({ description: 'Where the person asked to be added from.' }),
      ignoreUnknownFields: t.input.boolean({ description: IGNORE_UNKNOWN }),
      runAutomations: t.input.boolean({
        description: 'Whether the person enters automations by being added; true unless given.',
      }),
    },
    resolve: (_root, { input }, ctx) => addSubscriber(ctx, input),
  }),
);

builder.mutationField('updateSubscriber', (t) =>
  t.fieldWithInput({
    type: Subscriber,
    description: 'Changes the values that are given; tags are added to the existing ones.',
    authScopes: SCOPE,
    typeOptions: {
      checks: {
        ...updateSubscriberInput.shape,
        email: updateSubscriberInput.shape.EMAIL,
        subscriber: subscriberRefInput,
      },
    },
    input: {
      subscriber: t.input.string({ required: true }),
      listUid: t.input.string(),
      email: t.input.string(),
      fieldValues: t.input.field({ type: 'JsonObject', description: 'Values by tag; null clears.' }),
      tags: t.input.stringList(),
      status: t.input.field({ type: SettableSubscriberStatus }),
      ignoreUnknownFields: t.input.boolean({ description: IGNORE_UNKNOWN }),
    },
    resolve: (_root, { input }, ctx) => updateSubscriber(ctx, input),
  }),
);

const tagArgs = () => ({
  ...refArgs(),
  ...builder.args((t) => ({ tags: t.stringList({ required: true, check: tagsInput }) })),
});

builder.mutationField('tagSubscriber', (t) =>
  t.field({
    type: Subscriber,
    description: 'Adds tags after the existing ones; upper and lower case make no difference.',
    authScopes: SCOPE,
    args: tagArgs(),
    resolve: (_root, args, ctx) => tagSubscriber(ctx, args),
  }),
);

builder.mutationField('untagSubscriber', (t) =>
  t.field({
    type: Subscriber,
    description: 'Removes tags; a tag that the person does not have is no error.',
    authScopes: SCOPE,
    args: tagArgs(),
    resolve: (_root, args, ctx) => untagSubscriber(ctx, args),
  }),
);

const transition = (
  name: string,
  verb: (ctx: Context, ref: SubscriberRef) => Promise<SubscriberRow>,
  description: string,
) =>
  builder.mutationField(name, (t) =>
    t.field({
      type: Subscriber,
      description,
      authScopes: SCOPE,
      args: refArgs(),
      resolve: (_root, ref, ctx) => verb(ctx, ref),
    }),
  );

transition('subscribeSubscriber', subscribeSubscriber, 'Asks the person (again): pending, and a confirmation mail.');
transition(
  'unsubscribeSubscriber',
  unsubscribeSubscriber,
  'Takes the consent back; the person stays on the list and gets no more mail.',
);

interface Unsubscribed {
  readonly subscribers: readonly SubscriberRow[];
}

const UnsubscribedFromLists = builder.objectRef<Unsubscribed>('UnsubscribedFromLists').implement({
  description: 'A person who withdrew the consent.',
  authScopes: SCOPE,
  fields: (t) => ({
    subscribers: t.field({
      type: [Subscriber],
      description: 'The person on each of the lists, also where nothing changed.',
      extensions: { listLength: 10 },
      resolve: ({ subscribers }) => [...subscribers],
    }),
  }),
});

builder.mutationField('unsubscribeFromLists', (t) =>
  t.field({
    type: UnsubscribedFromLists,
    description: 'As `unsubscribeSubscriber`; but an address without a list is unsubscribed on every list that has it.',
    authScopes: SCOPE,
    args: refArgs(),
    resolve: async (_root, ref, ctx) => ({ subscribers: await unsubscribeFromLists(ctx, ref) }),
  }),
);

const DeletedSubscriber = builder.objectRef<SubscriberRow>('DeletedSubscriber').implement({
  authScopes: SCOPE,
  fields: (t) => ({
    uid: t.string({ resolve: ({ id }) => subscriberUid(id) }),
    id: t.expose('id', { type: 'BigInt' }),
  }),
});

builder.mutationField('deleteSubscriber', (t) =>
  t.field({
    type: DeletedSubscriber,
    description: 'Erases a person from a list, with the history of consent.',
    authScopes: SCOPE,
    args: refArgs(),
    resolve: (_root, ref, ctx) => deleteSubscriber(ctx, ref),
  }),
);
