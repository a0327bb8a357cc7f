/**
 * Campaigns through vendors that are too busy, break, answer nonsense or cut connections (test/support/api-faults.ts): nobody is lost, nobody gets
 * more than was explained, and no socket is left. One plays all that a connection can suffer, which all drivers have from the host; each
 * plays what its driver has to understand.
 */
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import tls from 'node:tls';
import { expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { API_FAULTS, type ApiFault } from '../support/api-faults.ts';
import { afterFile } from '../support/after-file.ts';
import type { CampaignWorld } from '../support/campaign-world.ts';
import { driverOf } from '../support/drivers-of-plugin.ts';
import { startFaultyFront, type FaultyFront } from '../support/faulty-front.ts';
import { testCertificate } from '../support/test-certificate.ts';
import { createTestContext, testInstallation } from '../support/test-context.ts';
import { expectTrueLedger, playCampaign, useEndpoint, vendorCampaign } from '../support/vendor-campaign.ts';
import { VENDORS, type KnownVendor } from '../support/vendors.ts';
import { withDriver } from '../support/with-hooks.ts';

/** The host waits for a minute; these tests do not. All vendors answer in this process, which a busy machine makes wait. */
const REPLY_TIMEOUT_MS = 10_000;
/** So many are well between two faults, or the server would rest longer and longer. */
const EVERY = 3;
const limits = { ...testInstallation.limits, sendBatchSize: 50, sendRetryDelaySeconds: 0.5 };
const installation = { ...testInstallation, limits, outboundAllowHosts: ['127.0.0.1'] };
const ctx = await createTestContext({ installation });
for (const { plugin, type } of VENDORS) {
  const driver = driverOf(plugin, type);
  withDriver(ctx.hooks, {
    ...driver,
    connect: (settings, options) => driver.connect(settings, { ...options, replyTimeoutMs: REPLY_TIMEOUT_MS }),
  });
}

const [all] = VENDORS;
/** Large messages are for the drivers alone (test/plugins/api-faults.test.ts). */
const PLAYED = API_FAULTS.filter(({ isForLarge }) => !isForLarge);
/** What is in an answer, and whether there is one. */
const UNDERSTOOD = PLAYED.filter(({ name }) =>
  /429 with seconds|503|taken the message|huge body|compresses|redirects/.test(name),
);

/** Each once, with well requests between. */
function faultsInTurn(front: FaultyFront, faults: readonly ApiFault[]): { readonly played: () => number } {
  const left = [...faults];
  let requests = 0;
  front.playBy(() => (++requests % EVERY === 0 ? left.shift()?.deed : undefined));
  return { played: () => faults.length - left.length };
}

interface Scene {
  readonly vendor: Awaited<ReturnType<KnownVendor['start']>>;
  readonly front: FaultyFront;
}

async function startScene({ start }: Pick<KnownVendor, 'start'>): Promise<Scene> {
  const vendor = await start();
  const front = await startFaultyFront(vendor.origin);
  afterFile(async () => {
    await front.close();
    await vendor.close();
  });
  return { vendor, front };
}

async function expectNoSockets({ vendor, front }: Scene): Promise<void> {
  const open = () => front.openSockets() + vendor.connections().now;
  for (let waits = 0; waits < 4_800 && open() > 0; waits++) await sleep(25);
  expect(open()).toBe(0);
}

// All at once: most of the time passes while servers rest.
test.concurrent.each(VENDORS)('a campaign with faults through $type', async ({ type, start }) => {
  const scene = await startScene({ start });
  const faults = type === all?.type ? PLAYED : UNDERSTOOD;
  const recipients = faults.length * EVERY;
  const world = await vendorCampaign(ctx, {
    ...{ vendor: scene.vendor, type, recipients },
    endpoint: scene.front.origin,
  });
  const turns = faultsInTurn(scene.front, faults);
  await playCampaign(ctx, world);
  const { unknown } = await expectTrueLedger(ctx, world, { vendor: scene.vendor, recipients });
  expect(turns.played()).toBe(faults.length);
  // No more than were in doubt: one for each fault, and what was under way beside it on a connection.
  expect(unknown).toBeGreaterThan(faults.length / 4);
  expect(unknown).toBeLessThanOrEqual(faults.length + 4);
  await expectNoSockets(scene);
});

test.concurrent('with the policy to send again, copies are explained by answers that were lost', async () => {
  const [, , , , sendGrid = all] = VENDORS;
  if (!sendGrid) throw new Error('There are vendors.');
  const { type } = sendGrid;
  const scene = await startScene(sendGrid);
  const faults = UNDERSTOOD.filter(({ name }) => name.includes('taken'));
  const recipients = 20;
  const world = await vendorCampaign(ctx, {
    ...{ vendor: scene.vendor, type, recipients },
    ...{ endpoint: scene.front.origin, policy: 'retry' },
  });
  const turns = faultsInTurn(scene.front, faults);
  await playCampaign(ctx, world);
  const { doubles, unknown } = await expectTrueLedger(ctx, world, {
    vendor: scene.vendor,
    recipients,
    ambiguous: faults.length,
  });
  // All of them had been taken: each was sent once more.
  expect({ played: turns.played(), doubles, unknown }).toEqual({
    played: faults.length,
    doubles: faults.length,
    unknown: 0,
  });
  await expectNoSockets(scene);
});

test.concurrent('wrong certificates, handshakes that hang and names that nobody knows only delay a campaign', async () => {
  if (!all) throw new Error('There are vendors.');
  const { type } = all;
  const scene = await startScene(all);
  const { vendor, front } = scene;
  const { pem, privateKey } = testCertificate();
  const wrong = tls.createServer({ cert: pem, key: privateKey.export({ type: 'pkcs8', format: 'pem' }) });
  const silent = createServer((socket) => socket.on('error', () => undefined).resume());
  afterFile(() => [wrong, silent].forEach((server) => server.close()));
  const portOf = async (server: typeof silent): Promise<number> => {
    server.on('error', () => undefined).listen(0, '127.0.0.1');
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  };
  wrong.on('tlsClientError', () => undefined);
  const endpoints = [
    `https://127.0.0.1:${await portOf(wrong)}`,
    `https://127.0.0.1:${await portOf(silent)}`,
    'http://nobody.invalid',
  ];
  const recipients = 10;
  const world = await vendorCampaign(ctx, { ...{ vendor, type, recipients }, endpoint: endpoints[0] ?? '' });
  const played = playCampaign(ctx, world);
  for (const [place, reason] of [/certificate/i, /no answer within/i, /found/i].entries()) {
    await untilTroubled(world, reason);
    await useEndpoint(ctx, world, { vendor, type, endpoint: endpoints[place + 1] ?? front.origin });
  }
  await played;
  const { sent } = await expectTrueLedger(ctx, world, { vendor, recipients });
  expect(sent).toBe(recipients);
  await expectNoSockets(scene);
});

/** The server is known to be in trouble for this reason. */
async function untilTroubled({ ctx: { viewer } }: CampaignWorld, reason: RegExp): Promise<void> {
  const troubles = sql`SELECT h.last_error AS message FROM hot.sending_health h JOIN sending_server s ON s.id = h.server_id
                        WHERE s.customer_id = ${viewer?.customerId ?? 0n}`;
  for (let waits = 0; waits < 2_400; waits++) {
    const found = await queryRows<{ message: string | null }>(ctx.db, troubles);
    if (found.some(({ message }) => reason.test(message ?? ''))) return;
    await sleep(50);
  }
  throw new Error(`The server is in no trouble for ${reason}.`);
}
