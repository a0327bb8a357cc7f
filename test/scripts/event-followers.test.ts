/** `npm run event-followers`: what an operator sees of followers, and how one begins again or is removed. */
import { expect, it } from 'vitest';
import { sql } from '../../src/db/database.ts';
import { recordEvents } from '../../src/events/event-store.ts';
import { makeFollowers } from '../../src/events/follower-store.ts';
import { runScript } from '../support/run-script.ts';
import { createTestContext, testInstallation } from '../support/test-context.ts';

const { db, database } = await createTestContext();
const settings = { DATABASE_URL: database.url, APP_SECRET: testInstallation.secret };
const run = (...words: string[]) => runScript('event-followers', words, settings);

it('shows followers, lets one begin again, and removes one', async () => {
  await makeFollowers(db, [{ name: 'crm', owner: 'acme/crm' }]);
  await recordEvents(db, [{ kind: 'list_created', customerId: null, objectUid: 'a', data: {} }]);
  await db.execute(
    sql`UPDATE hot.event_follower SET cut_off_at = now(), failures = 3, last_error = 'away' WHERE name = 'crm'`,
  );
  expect((await run()).text).toMatch(
    /^crm +acme\/crm +cut off since 20.* {2}3 failures: away\nhooks +mailwright +\d+ s behind/m,
  );
  expect(await run('again', 'crm')).toMatchObject({ code: 0 });
  expect((await run()).text).toMatch(/^crm +acme\/crm +0 s behind$/m);
  expect(await run('remove', 'crm')).toMatchObject({ code: 0 });
  expect((await run()).text).not.toContain('crm');
  expect(await run('again', 'crm')).toMatchObject({
    code: 1,
    text: expect.stringContaining('There is no follower "crm".'),
  });
  expect(await run('forget', 'hooks')).toMatchObject({ code: 1, text: expect.stringContaining('again <name>') });
});
