/** Adds and removes a subscriber's tags (decision D19); repeating either is harmless. */
import { z } from 'zod';
import { parseInput } from '../../lib/text.ts';
import { inTransaction, type Context } from '../context.ts';
import { findSubscriber } from './find-subscriber.ts';
import { subscriberNotFound, tooManyTags } from './subscriber-errors.ts';
import { lockSubscriber, rememberTags, writeSubscriber } from './subscriber-store.ts';
import { distinctTags, tagKey, TAGS_MAX, tagsInput, type Subscriber, type SubscriberRef } from './subscriber.ts';

export interface TagSubscriberInput extends SubscriberRef {
  /** Each may hold several, separated by commas. */
  readonly tags: readonly string[];
}

const input = z.object({ tags: tagsInput.refine((tags) => tags.length > 0, 'must name at least one tag') });

/** Adds tags after the existing ones. Throws ValidationError (`TOO_MANY_TAGS`), NotFoundError, ForeignResourceError. */
export function tagSubscriber(ctx: Context, given: TagSubscriberInput): Promise<Subscriber> {
  return changeTags(ctx, given, (there, tags) => distinctTags([...there, ...tags]));
}

/** Removes tags, compared without case; missing ones are no error. Throws as `tagSubscriber`. */
export function untagSubscriber(ctx: Context, given: TagSubscriberInput): Promise<Subscriber> {
  return changeTags(ctx, given, (there, tags) => {
    const keys = new Set(tags.map(tagKey));
    return there.filter((tag) => !keys.has(tagKey(tag)));
  });
}

type Change = (there: readonly string[], tags: readonly string[]) => readonly string[];

async function changeTags(ctx: Context, given: TagSubscriberInput, change: Change): Promise<Subscriber> {
  const found = await findSubscriber(ctx, given);
  const { tags } = parseInput(input, { tags: given.tags });
  return inTransaction(ctx, async ({ db }) => {
    const subscriber = await lockSubscriber(db, found);
    if (!subscriber) throw subscriberNotFound();
    const next = change(subscriber.tags, tags);
    if (next.length > TAGS_MAX && next.length > subscriber.tags.length) throw tooManyTags(TAGS_MAX);
    if (next.join() === subscriber.tags.join()) return subscriber;
    await rememberTags(db, { customerId: subscriber.customerId, id: subscriber.listId }, next);
    return writeSubscriber(db, subscriber, { ...subscriber, tags: next });
  });
}
