/** Places and machines from the request to the report, through the real server with a file of places. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { startApp } from '../../src/app/start-app.ts';
import { loadConfig } from '../../src/config/load-config.ts';
import { linkSignerOf } from '../../src/domain/tracking/link-signer.ts';
import { silentLog } from '../../src/lib/log.ts';
import { seedCampaign } from '../support/audience-rows.ts';
import { writeGeoipFile } from '../support/geoip-file.ts';
import { untilCounted } from '../support/record-tracking-events.ts';
import { startRestApp } from '../support/rest-app.ts';
import { recipientOfCampaign } from '../../src/domain/tracking/tracking.ts';
import { createTestDatabase } from '../support/test-database.ts';

const folder = mkdtempSync(path.join(os.tmpdir(), 'mailwright-places-'));
afterAll(() => rmSync(folder, { recursive: true }));
const file = path.join(folder, 'places.mmdb');
writeGeoipFile(file, [
  { cidr: '192.0.2.0/25', country: 'Ireland', region: 'Leinster', city: 'Dublin' },
  { cidr: '198.51.100.0/24', country: 'Norway' },
]);
const app = await startRestApp({ GEOIP_FILE: file, TRUSTED_PROXIES: '127.0.0.1' });

const BROWSER = 'Mozilla/5.0 (X11; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0';

test('opens and clicks are kept and counted with their place, and shown by the report and the logs', async () => {
  const { customerId, token } = await app.newTenant();
  const { listId, campaignId, campaignUid, subscriberIds } = await seedCampaign(app.ctx.db, {
    subscribers: 6,
    customerId,
  });
  const trackingEvent = async (who: number, ip: string, { userAgent = BROWSER, click = false } = {}) => {
    const links = linkSignerOf(app.ctx.installation).forRecipient(
      recipientOfCampaign({
        customerId,
        listId,
        campaignId,
        subscriberId: subscriberIds[who] ?? 0n,
      }),
    );
    const address = click ? links.click(0, 'https://example.org/') : links.open();
    const headers = { 'X-Forwarded-For': ip, 'User-Agent': userAgent };
    const answer = await fetch(address.replace(app.ctx.installation.baseUrl, app.baseUrl), {
      headers,
      redirect: 'manual',
    });
    expect([200, 302]).toContain(answer.status);
  };
  for (const who of [0, 1, 2]) await trackingEvent(who, '192.0.2.7');
  await trackingEvent(3, '198.51.100.9');
  await trackingEvent(4, '198.51.100.9', { userAgent: 'Mozilla/5.0' });
  await trackingEvent(5, '203.0.113.5', { click: true });
  await untilCounted(app.ctx);
  const { body } = await app.rest(`/campaigns/${campaignUid}`, { token });
  expect((body as { statistics: unknown }).statistics).toMatchObject({
    ...{ open_count: 6, uniq_open_count: 6, human_uniq_open_count: 5, machine_open_count: 1, human_click_count: 1 },
    top_locations: [
      { country: 'Ireland', region: 'Leinster', city: 'Dublin', open_count: 3 },
      { country: 'Norway', region: null, city: null, open_count: 2 },
      { country: null, region: null, city: null, open_count: 1 },
    ],
  });
  const log = await app.rest(`/campaigns/${campaignUid}/open-log/download?type=json`, { token });
  expect(
    (log.body as { country: unknown; is_machine: unknown }[]).map(({ country, is_machine }) => [country, is_machine]),
  ).toEqual([
    ['Ireland', false],
    ['Ireland', false],
    ['Ireland', false],
    ['Norway', false],
    ['Norway', true],
    [null, false],
  ]);
});

test('a file that cannot be used stops the start and says which', async () => {
  const broken = path.join(folder, 'broken.mmdb');
  writeFileSync(broken, 'no database');
  const { url } = await createTestDatabase();
  const settings = {
    DATABASE_URL: url,
    DATA_DIR: folder,
    PORT: '0',
    ROLES: 'web',
    INBOX: 'off',
    APP_SECRET: 's'.repeat(40),
    GEOIP_FILE: broken,
  };
  await expect(startApp(loadConfig(settings), silentLog)).rejects.toThrow(`GEOIP_FILE ${broken} cannot be used`);
});
