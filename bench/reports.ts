/**
 * Vendors' reports beside a campaign: how many messages a second a campaign sends while a vendor posts 1,000 events a second to its webhook,
 * and without them, in turns. The events are about messages of an earlier campaign: 19 of 20 have arrived, one was refused, and at the end
 * each of these must have been recorded. Who posts is this process, on the same processors.
 *
 *   node bench/reports.ts [--smoke] [--recipients 100000] [--repeat 3] [--delay 10] [--events 1000] [--batch 100]
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { limitsOf } from '../src/app/installation.ts';
import { loadConfig } from '../src/config/load-config.ts';
import { sealSecrets } from '../src/domain/sending/server-secrets.ts';
import { SOURCE_KINDS } from '../src/domain/source-key.ts';
import { deliveryMessageId } from '../src/domain/tracking/delivery-message-id.ts';
import { newUid } from '../src/lib/ids.ts';
import { inInstallation, type BenchInstallation } from './support/bench-installation.ts';
import { campaignRate } from './support/campaign-rate.ts';
import { median } from './support/median.ts';
import { BENCH_SECRET } from './support/product.ts';
import { ReportingVendor } from './support/reporting-vendor.ts';

const { values } = parseArgs({
  options: {
    smoke: { type: 'boolean', default: false },
    recipients: { type: 'string' },
    repeat: { type: 'string' },
    delay: { type: 'string', default: '10' },
    events: { type: 'string', default: '1000' },
    batch: { type: 'string', default: '100' },
  },
});
const RECIPIENTS = Number(values.recipients ?? (values.smoke ? 2_000 : 100_000));
const REPEAT = Number(values.repeat ?? (values.smoke ? 1 : 3));
const EVENTS_PER_SECOND = Number(values.events);
const BATCH = Number(values.batch);
const GOAL = 0.95;
const RECORDED_SECONDS_MAX = 120;
const WEBHOOK_KEY = '0123456789abcdef0123456789abcdef';

await inInstallation({ people: RECIPIENTS, delayMs: Number(values.delay) }, measure);

async function measure(installation: BenchInstallation): Promise<void> {
  const { product, tenant } = installation;
  const first = await tenant.createCampaign();
  await tenant.run(first);
  await tenant.untilDone(first);
  const vendor = new ReportingVendor({
    ...{ url: `${product.url}${await makeServer(installation)}`, messages: await messagesOf(installation, first) },
    ...{ eventsPerSecond: EVENTS_PER_SECOND, batch: BATCH },
  });
  const found = { without: [] as number[], beside: [] as number[] };
  for (let round = 0; round < REPEAT; round++) {
    found.without.push(await campaignRate(installation, RECIPIENTS));
    vendor.start();
    found.beside.push(await campaignRate(installation, RECIPIENTS));
    await vendor.stop();
  }
  const ratio = median(found.beside) / median(found.without);
  console.log(
    `A campaign sends ${Math.round(median(found.without))} messages a second, beside ${EVENTS_PER_SECOND} events a second in requests of ${BATCH}: ` +
      `${Math.round(median(found.beside))}, ${ratio.toFixed(2)} (goal ${GOAL}); medians of ${REPEAT}.`,
  );
  console.log(`${vendor.told()} Answers after ${vendor.slowest().toFixed(0)} ms at most.`);
  const seconds = await untilRecorded(installation, vendor.refused());
  console.log(
    `All ${vendor.refused()} refusals were recorded, and no job was left, ${seconds.toFixed(1)} s after the last request.`,
  );
}

/** A server of a vendor that reports, and that nothing is sent through; answers the path of its webhook. */
async function makeServer({ client }: BenchInstallation): Promise<string> {
  const uid = newUid();
  await client.query(
    `INSERT INTO sending_server (customer_id, uid, name, type, settings, sealed_settings, is_system, status)
     SELECT min(id), $1, 'Vendor', 'sparkpost-api', '{"region": "us"}', $2, true, 'inactive' FROM customer`,
    [uid, sealSecrets(BENCH_SECRET, uid, { api_key: 'bench', webhook_key: WEBHOOK_KEY })],
  );
  return `/webhook/sparkpost-api/${uid}?key=${WEBHOOK_KEY}`;
}

/** Our ids of the campaign's messages. */
async function messagesOf({ client, product }: BenchInstallation, campaignUid: string): Promise<string[]> {
  const installation = { baseUrl: product.url, secret: BENCH_SECRET, limits: limitsOf(loadConfig({})) };
  const { rows } = await client.query<{ customer: string; source: string; recipient: string }>(
    `SELECT d.customer_id AS customer, d.source_id AS source, d.recipient_id AS recipient
       FROM hot.delivery d JOIN campaign c ON c.customer_id = d.customer_id AND c.id = d.source_id WHERE c.uid = $1`,
    [campaignUid],
  );
  return rows.map(({ customer, source, recipient }) => {
    const key = {
      customerId: BigInt(customer),
      sourceId: BigInt(source),
      recipientId: BigInt(recipient),
      occurrence: 0n,
    };
    const id = deliveryMessageId(installation, { ...key, sourceKind: SOURCE_KINDS.campaign }, 'shop.example');
    return id.slice(1, id.indexOf('@'));
  });
}

/** Waits until so many refusals are recorded and no events wait; answers the seconds. */
async function untilRecorded({ client }: BenchInstallation, refusals: number): Promise<number> {
  const startedAt = performance.now();
  for (;;) {
    const { rows } = await client.query<{ bounces: number; jobs: number }>(
      `SELECT (SELECT count(*) FROM hot.bounce_event)::int AS bounces,
              (SELECT count(*) FROM graphile_worker.jobs WHERE task_identifier = 'bounces.take-webhook-events')::int AS jobs`,
    );
    const { bounces = 0, jobs = 0 } = rows[0] ?? {};
    const seconds = (performance.now() - startedAt) / 1_000;
    if (bounces >= refusals && jobs === 0) return seconds;
    if (seconds > RECORDED_SECONDS_MAX)
      throw new Error(`Only ${bounces} of ${refusals} refusals are recorded; ${jobs} jobs wait.`);
    await sleep(200);
  }
}
