/** How long messages are tried: those of flows may have been held back for days before the first try. */
import { expect, it } from 'vitest';
import { waitSeconds } from '../../../src/domain/delivery/messages/message-tries.ts';
import { PRIORITIES } from '../../../src/domain/messages/message.ts';

const HOUR = 3_600;

it('a mail of a flow that was held back for 30 hours is tried again; a confirmation that old is not', () => {
  const held = { purpose: 'flow', priority: PRIORITIES.flow, ageSeconds: 30 * HOUR } as const;
  expect(waitSeconds(held)).toBe(600);
  expect(waitSeconds({ ...held, ageSeconds: 96 * HOUR })).toBeUndefined();
  expect(waitSeconds({ purpose: 'confirmation', priority: PRIORITIES.list, ageSeconds: 24 * HOUR })).toBeUndefined();
});
