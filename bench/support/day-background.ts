/** What a day gives to do in the background: campaigns, imports, what the clock does, and deletions. */
import { setTimeout as sleep } from 'node:timers/promises';
import { openDatabase } from '../../src/db/database.ts';
import { enqueue, type JobDefinition } from '../../src/jobs/define-job.ts';
import * as accountJobs from '../../src/jobs/account-jobs.ts';
import * as bounceJobs from '../../src/jobs/bounce-jobs.ts';
import * as campaignJobs from '../../src/jobs/campaign-jobs.ts';
import { expirePendingJob } from '../../src/jobs/audience-jobs.ts';
import { renewSubscriptionsJob } from '../../src/jobs/billing-jobs.ts';
import { dropAbandonedUploadsJob } from '../../src/jobs/file-jobs.ts';
import { dropAbandonedImportsJob } from '../../src/jobs/import-jobs.ts';
import { recheckDomainsJob } from '../../src/jobs/sending-jobs.ts';
import { silentLog } from '../../src/lib/log.ts';
import { CAMPAIGN } from './bench-message.ts';
import type { DayWorld } from './day-world.ts';
import { untilImported, uploadImport } from './rest-import.ts';

const POLL_MS = 50;
/** Of a list, in an import. */
const IMPORTED_SHARE = 0.02;
/** Of those of the large list who are pending, whose time ends on this day. */
const EXPIRING_SHARE = 0.2;
const SENDER = { from_email: 'news@shop.example', from_name: 'Shop' };
/** All that the crontab has. */
const OF_THE_CLOCK: readonly JobDefinition[] = [
  ...[campaignJobs.reviveCampaignsJob, campaignJobs.refreshReceivedJob, campaignJobs.makePartitionsJob],
  ...[campaignJobs.dropPartitionsJob, dropAbandonedImportsJob, dropAbandonedUploadsJob, expirePendingJob],
  ...[accountJobs.sweepAccountsJob, accountJobs.sweepRequestsJob, renewSubscriptionsJob, recheckDomainsJob],
  ...[bounceJobs.pollBounceHandlersJob, bounceJobs.sweepBouncesJob],
];

export async function addServer({ product }: DayWorld, port: number): Promise<void> {
  const settings = { host: '127.0.0.1', encryption: 'none', port, connections: 10, window: 50 };
  await product.rest('POST', '/sending_servers', { name: 'Sink', type: 'smtp', settings });
}

/** A campaign to the whole second list, paused and resumed on its way, and one to a segment of the large list. */
export async function sendCampaigns(world: DayWorld): Promise<void> {
  const { large, second } = world.lists;
  const whole = await newCampaign(world, { list_uid: second.uid });
  await world.product.rest('GET', `/campaigns/${whole}/preview`);
  await world.product.rest('POST', `/campaigns/${whole}/test`, { emails: ['tester@new.example'] });
  await world.product.rest('POST', `/campaigns/${whole}/run`);
  await untilStatus(world, whole, 'sending');
  await world.product.rest('POST', `/campaigns/${whole}/pause`);
  await world.product.rest('POST', `/campaigns/${whole}/resume`);
  await untilStatus(world, whole, 'done');
  const rule = { all: [{ opened: { inLastDays: 90 } }, { tags: { hasAny: ['tag 3', 'tag 4'] } }] };
  const { segment_uid } = await world.product.rest<{ segment_uid: string }>('POST', `/lists/${large.uid}/segments`, {
    name: 'Keen readers',
    rule,
  });
  const some = await newCampaign(world, { list_uid: large.uid, segment_uid });
  await world.product.rest('POST', `/campaigns/${some}/run`);
  await untilStatus(world, some, 'done');
}

async function newCampaign({ product }: DayWorld, to: Readonly<Record<string, string>>): Promise<string> {
  const campaign = { ...to, ...CAMPAIGN, ...SENDER, name: 'Of the day', track_open: 1, track_click: 1 };
  return (await product.rest<{ campaign_uid: string }>('POST', '/campaigns', campaign)).campaign_uid;
}

/** Also looks at it as somebody who watches it. */
async function untilStatus({ product }: DayWorld, uid: string, wanted: string): Promise<void> {
  for (let status = ''; status !== wanted && status !== 'done'; await sleep(POLL_MS))
    ({ status } = (await product.rest<{ campaign: { status: string } }>('GET', `/campaigns/${uid}`)).campaign);
}

/** New people, then the same file with other values. */
export async function importPeople(world: DayWorld): Promise<void> {
  const { uid, people } = world.lists.large;
  const lines = function* (city: string) {
    yield 'email,first name,city,tags\n';
    for (let no = 0; no < people * IMPORTED_SHARE; no++)
      yield `imported${no}@new.example,Name ${no},${city} ${no % 50},imported\n`;
  };
  for (const city of ['City', 'Town']) {
    const imported = await uploadImport(world.product, { listUid: uid, file: lines(city) });
    await untilImported(world.product, uid, imported);
  }
}

/** Every job of the crontab. */
export async function clockRound({ url, client, lists }: DayWorld): Promise<void> {
  await client.query(
    `UPDATE subscriber s SET pending_until = now() FROM mail_list l
      WHERE l.uid = $1 AND s.customer_id = l.customer_id AND s.list_id = l.id AND s.status = 'pending'
        AND hashint8(s.id) % 100 BETWEEN 0 AND $2`,
    [lists.large.uid, EXPIRING_SHARE * 100],
  );
  const database = openDatabase({ url, poolSize: 1, log: silentLog });
  for (const job of OF_THE_CLOCK) await enqueue(database, job, {});
  await database.close();
}

/** A campaign of the large list, and the second list with all its campaigns. */
export async function deleteThings(world: DayWorld): Promise<void> {
  const { large, second } = world.lists;
  await world.product.rest('DELETE', `/campaigns/${large.campaigns.at(-1)}`);
  await world.product.rest('DELETE', `/lists/${second.uid}`);
  await untilIdle(world);
}

/** Until no job waits, nothing is being erased and every tracking event is counted. */
export async function untilIdle({ client }: DayWorld): Promise<void> {
  const busy = `SELECT EXISTS (SELECT 1 FROM hot.deletion) OR EXISTS (SELECT 1 FROM hot.tracking_event)
                    OR EXISTS (SELECT 1 FROM graphile_worker.jobs WHERE run_at <= now() AND attempts < max_attempts) AS busy`;
  while ((await client.query<{ busy: boolean }>(busy)).rows[0]?.busy) await sleep(POLL_MS);
}
