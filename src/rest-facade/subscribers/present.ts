/** How REST shows subscribers (specification 2.3): one key per field tag beside the fixed ones. */
import type { RestSubscriberFragment, RestSubscriberRowFragment } from '../../generated/operations.ts';
import type { DataOf } from '../operations.ts';
import { restTime } from '../timestamps.ts';

export function presentSubscriberRow(subscriber: RestSubscriberRowFragment) {
  const { id, uid, email, status, fieldValues } = subscriber;
  return { id: Number(id), uid, email, status, ...texts(fieldValues) };
}

export function presentSubscriber(subscriber: RestSubscriberFragment) {
  const { id, uid, email, status, source, ipAddress, tags, fieldValues } = subscriber;
  return {
    ...{ id: Number(id), uid, list_uid: subscriber.list.uid, email, status, source, ip_address: ipAddress },
    ...texts(fieldValues),
    deliverability: subscriber.deliverability,
    ...verificationOf(subscriber),
    ...{ tags, created_at: restTime(subscriber.createdAt), updated_at: restTime(subscriber.updatedAt) },
  };
}

function verificationOf({ verification }: RestSubscriberFragment) {
  return {
    verification_status: verification?.result ?? null,
    verification_reasons: verification?.reasons ?? [],
    verified_at: restTime(verification?.verifiedAt),
    verified_by: verification?.verifiedBy ?? null,
  };
}

/** The names of the person in an action result: clients read either (D7). */
export function whom({ id, uid }: { readonly id: string; readonly uid: string }) {
  return { subscriber_uid: uid, subscriber_id: id };
}

/** Of one person on several lists the first is named, and all lists (D50). */
export function unsubscribed(people: DataOf<'UnsubscribeFromLists'>['unsubscribeFromLists']['subscribers']) {
  const [first] = people;
  if (!first) throw new Error('Nobody was unsubscribed, and there was no error.');
  return { ...whom(first), list_uids: people.map(({ list }) => list.uid) };
}

/** Values as texts; a missing value is empty. */
function texts(values: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(values).map(([tag, value]) => [tag, typeof value === 'string' ? value : '']),
  );
}
