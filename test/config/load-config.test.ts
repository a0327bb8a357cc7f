/** What a wrong value of a setting is answered with: the value, and what it must be, for every kind of setting. */
import { limitsOf } from '../../src/app/installation.ts';
import { expect, test } from 'vitest';
import { ConfigError, loadConfig } from '../../src/config/load-config.ts';
import { movedToDatabase, settings } from '../../src/config/settings.ts';

const WRONG: readonly (readonly [name: string, text: string, fault: string])[] = [
  ['PORT', 'abc', 'PORT is "abc"; it must be a number from 0 to 65535.'],
  ['PORT', '65536', 'PORT is "65536"; it must be a number from 0 to 65535.'],
  ['WORKER_CONCURRENCY', '2.5', 'WORKER_CONCURRENCY is "2.5"; it must be a number from 1 to 100.'],
  ['SEND_BATCH_SIZE', '1e3', 'SEND_BATCH_SIZE is "1e3"; it must be a number from 10 to 10000.'],
  ['STOP_GRACE_SECONDS', '30s', 'STOP_GRACE_SECONDS is "30s"; it must be a number from 1 to 3600.'],
  ['IMPORT_SIZE_MAX_MB', '0', 'IMPORT_SIZE_MAX_MB is "0"; it must be a number from 1 to 10000.'],
  ['GRAPHQL_EXPLORER', 'true', 'GRAPHQL_EXPLORER is "true"; it must be on or off.'],
  ['LOG_LEVEL', 'loud', 'LOG_LEVEL is "loud"; it must be debug, info, warn, error or silent.'],
  ['WORKERS', 'many', 'WORKERS is "many"; it must be auto or a number from 1 to 64.'],
  [
    'BASE_URL',
    'mail.test',
    'BASE_URL is "mail.test"; it must be a URL that begins with http:// or https://, or empty.',
  ],
  ['ADMIN_EMAIL', 'admin', 'ADMIN_EMAIL is "admin"; it must be an e-mail address.'],
  ['RATE_LIMIT', '60', 'RATE_LIMIT is "60"; it must be requests per time, such as 60/1m, 1000/1h or 10/30s, or empty.'],
  ['BOUNCE_SMTP_PORT', 'x', 'BOUNCE_SMTP_PORT is "x"; it must be a number from 0 to 65535, or empty.'],
  ['BOUNCE_DOMAIN', 'x', 'BOUNCE_DOMAIN is "x"; it must be a domain, such as bounces.example.com, or empty.'],
  [
    'ROLES',
    'web,cook',
    'ROLES is "web,cook"; it must be one or more of web, worker and cron, separated by commas, and "cook" is not.',
  ],
  ['ROLES', ',', 'ROLES is ","; it must be one or more of web, worker and cron, separated by commas.'],
  [
    'DNS_SERVERS',
    '192.0.2.53, dns.test, 192.0.2.53:99999',
    'DNS_SERVERS is "192.0.2.53, dns.test, 192.0.2.53:99999"; it must be addresses of DNS servers, separated by commas, and "dns.test", "192.0.2.53:99999" are not.',
  ],
  [
    'SPF_TERMS',
    'include:spf.test -all',
    'SPF_TERMS is "include:spf.test -all"; it must be SPF terms, such as include:spf.example.com, separated by spaces, and "-all" is not.',
  ],
  ...['sendmail', '/usr/sbin/../bin/sh', '/usr/sbin/', '/usr//sbin/sendmail'].map((text): (typeof WRONG)[number] => [
    'SENDING_PROGRAMS',
    text,
    `SENDING_PROGRAMS is ${JSON.stringify(text)}; it must be absolute paths without . and .., separated by commas, or none, and ${JSON.stringify(text)} is not.`,
  ]),
  [
    'ADMIN_PASSWORD',
    'short',
    'The value of ADMIN_PASSWORD is not shown here; it must be a text of 8 to 128 characters, or empty.',
  ],
  [
    'DATABASE_URL',
    'mysql://u:p@db/x',
    'The value of DATABASE_URL is not shown here; it must be a URL that begins with postgresql://, or empty.',
  ],
];

test.each(WRONG)('%s=%s', (name, text, fault) => {
  expect(faultsOf({ [name]: text })).toEqual([fault]);
});

test('SENDING_PROGRAMS', () => {
  const read = (text: string) => loadConfig({ SENDING_PROGRAMS: text }).SENDING_PROGRAMS;
  expect(read('')).toEqual(['/usr/sbin/sendmail', '/usr/lib/sendmail']);
  expect(read('/opt/mail program/sendmail')).toEqual(['/opt/mail program/sendmail']);
  expect(read('none')).toEqual([]);
});

test('all faults are told together', () => {
  expect(faultsOf({ PORT: 'abc', INBOX: 'maybe', HOST: 'x' })).toEqual([
    'PORT is "abc"; it must be a number from 0 to 65535.',
    'INBOX is "maybe"; it must be auto, on or off.',
  ]);
});

test('a variable whose setting is in the database now stops the start and says where it is', () => {
  expect(faultsOf({ MAINTENANCE: 'on', PORT: 'abc' })).toEqual([
    'MAINTENANCE is no longer a setting of the environment. Remove it; an administrator sets maintenance with PATCH /api/v1/settings or in GraphQL with updateInstallationSettings.',
    'PORT is "abc"; it must be a number from 0 to 65535.',
  ]);
  for (const name of movedToDatabase) expect(faultsOf({ [name]: '1' })[0]).toContain(name.toLowerCase());
  expect(faultsOf({ MAINTENANCE: '' })).toEqual([]);
});

test('every default is allowed, and an empty value counts as absent', () => {
  const empty = Object.fromEntries(Object.keys(settings).map((name) => [name, ' ']));
  expect(loadConfig(empty)).toEqual(loadConfig({}));
});

function faultsOf(environment: Readonly<Record<string, string>>): readonly string[] {
  try {
    loadConfig(environment);
  } catch (error) {
    if (error instanceof ConfigError) return error.faults;
    throw error;
  }
  return [];
}

test('a batch of an import as earlier versions took it is accepted, and half of it used', () => {
  expect(limitsOf(loadConfig({ IMPORT_BATCH_SIZE: '100000' })).importBatchSize).toBe(50_000);
});
