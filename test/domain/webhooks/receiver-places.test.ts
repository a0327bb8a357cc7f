/** How places are shared: slow receivers, however many, leave room for quick ones. */
import { expect, test } from 'vitest';
import { ReceiverPlaces } from '../../../src/domain/webhooks/receiver-places.ts';

const never = () => new Promise<undefined>(() => undefined);

test('unknown and slow receivers get half of the places in all, quick ones the other half at least', async () => {
  const places = new ReceiverPlaces();
  await places.hold({ id: 0n, receiver: 'quick' }, Promise.resolve(20));
  expect(places.next('others')).toMatchObject({ known: [['quick', 0]], limitOfOthers: 2, wanted: 128 });
  for (let no = 1; no <= 100; no++) void places.hold({ id: BigInt(no), receiver: `slow ${no}` }, never());
  expect(places.next('others')?.wanted).toBe(28);
  for (let no = 101; no <= 128; no++) void places.hold({ id: BigInt(no), receiver: `slow ${no}` }, never());
  expect(places.next('others')).toBeUndefined();
  const quick = places.next('quick');
  expect(quick).toMatchObject({ limitOfOthers: 0, wanted: 128 });
  expect(quick?.known.filter(([, limit]) => limit > 0)).toEqual([['quick', 10]]);
});
