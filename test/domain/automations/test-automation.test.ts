/** The rights that a live test of a flow needs (D91): its mails can say everything about the person whose values they show. */
import { expect, test } from 'vitest';
import { testAutomation } from '../../../src/domain/automations/live-test/test-automation.ts';
import { viewerOf } from '../../../src/domain/context.ts';
import { startFlowMailWorld } from '../../support/flow-mail-world.ts';

test('a token shows a person in its mails only with the right to read people', async () => {
  const world = await startFlowMailWorld({ smtpPort: 9 });
  const ann = await world.person({ email: 'ann@example.org' });
  const { uid } = await world.publish({
    triggers: [{ type: 'execute' }],
    nodes: [{ id: 'rest', type: 'wait', for: { days: 1 } }],
    edges: [{ from: 'start', to: 'rest' }],
  });
  const begin = (scopes: readonly string[], subscriber?: string) =>
    testAutomation({ ...world.ctx, viewer: { ...viewerOf(world.ctx), scopes } }, uid, {
      ...{ email: 'boss@example.org', version: 1, subscriber },
    });
  for (const named of ['ann@example.org', String(ann)])
    await expect(begin(['automations:write'], named)).rejects.toMatchObject({ code: 'FORBIDDEN' });
  expect(await begin(['automations:write'])).toMatchObject({ subscriberId: null });
  expect(await begin(['automations:write', 'subscribers:read'], 'ann@example.org')).toMatchObject({
    subscriberId: ann,
  });
});
