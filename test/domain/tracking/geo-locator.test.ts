/** Places of addresses from a file, on files written here. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import { openGeoLocator } from '../../../src/domain/tracking/geo-locator.ts';
import { createLog, silentLog } from '../../../src/lib/log.ts';
import { writeGeoipFile } from '../../support/geoip-file.ts';

const folder = mkdtempSync(path.join(os.tmpdir(), 'mailwright-geoip-'));
afterAll(() => rmSync(folder, { recursive: true }));
const fileOf = (name: string) => path.join(folder, name);

test('an address is where its network is; what the file does not say is unknown', async () => {
  const file = fileOf('places.mmdb');
  writeGeoipFile(file, [
    { cidr: '192.0.2.0/25', country: 'Ireland', region: 'Leinster', city: 'Dublin' },
    { cidr: '192.0.2.128/25', country: 'Norway' },
  ]);
  const places = await openGeoLocator({ file, log: silentLog });
  expect(places.locate('192.0.2.7')).toEqual({ country: 'Ireland', region: 'Leinster', city: 'Dublin' });
  expect(places.locate('192.0.2.200')).toEqual({ country: 'Norway', region: null, city: null });
  for (const unknown of ['198.51.100.1', '2001:db8::1', '', 'nonsense', '::ffff:203.0.113.9'])
    expect(places.locate(unknown)).toBeUndefined();
  places.close();
});

test('a missing or broken file stops the start, by its name', async () => {
  const broken = fileOf('broken.mmdb');
  writeFileSync(broken, 'This is no database.');
  await expect(openGeoLocator({ file: broken, log: silentLog })).rejects.toThrow(
    `GEOIP_FILE ${broken} cannot be used: it is not a database in MaxMind format`,
  );
  await expect(openGeoLocator({ file: fileOf('none.mmdb'), log: silentLog })).rejects.toThrow('there is no such file');
});

test('a file that changes is read again; one that broke is not', async () => {
  const file = fileOf('changing.mmdb');
  const logged: string[] = [];
  const log = createLog({ level: 'info', format: 'json', write: (line) => void logged.push(line) });
  writeGeoipFile(file, [{ cidr: '192.0.2.0/24', country: 'Ireland' }]);
  const places = await openGeoLocator({ file, log, lookEveryMs: 20 });
  const until = async (holds: () => boolean) => {
    for (let tries = 0; tries < 6_000 && !holds(); tries++) await sleep(20);
    expect(holds()).toBe(true);
  };
  writeGeoipFile(file, [{ cidr: '192.0.2.0/24', country: 'Norway', city: 'Oslo' }]);
  await until(() => places.locate('192.0.2.7')?.country === 'Norway');
  writeFileSync(file, 'Half a file');
  await until(() => logged.some((line) => line.includes('geoip.reload_failed')));
  expect(places.locate('192.0.2.7')).toMatchObject({ country: 'Norway', city: 'Oslo' });
  places.close();
});

test('a file that knows no places says so', async () => {
  const file = fileOf('owners.mmdb');
  const logged: string[] = [];
  const log = createLog({ level: 'info', format: 'json', write: (line) => void logged.push(line) });
  writeGeoipFile(file, [{ cidr: '192.0.2.0/24', country: 'Ireland' }], 'Test-ASN');
  (await openGeoLocator({ file, log })).close();
  expect(logged.join()).toContain('geoip.no_places');
});
