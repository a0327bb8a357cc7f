/** The server of the development receiver: made once, moved with the receiver's port, and unusable without it. */
import { expect, test } from 'vitest';
import {
  retireDevelopmentServer,
  developmentServerPort,
  hasRealSendingServer,
  useDevelopmentServer,
} from '../../../src/domain/sending/development-server-store.ts';
import { createTenant } from '../../support/tenant.ts';
import { createTestContext } from '../../support/test-context.ts';

const root = await createTestContext();
await createTenant(root);

test('other processes find the receiver by the port of its server', async () => {
  expect(await developmentServerPort(root)).toBeNull();
  await useDevelopmentServer(root, 2525);
  expect(await developmentServerPort(root)).toBe(2525);
  await useDevelopmentServer(root, 2600);
  expect([await developmentServerPort(root), await hasRealSendingServer(root)]).toEqual([2600, false]);
  await retireDevelopmentServer(root);
  expect(await developmentServerPort(root)).toBeNull();
});
