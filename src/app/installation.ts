/** What this installation is: its secret, its address, its limits. */
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { Settings } from '../config/settings.ts';
import type { Database } from '../db/database.ts';
import type { Installation, Trust } from '../domain/context.ts';
import { keepSetting } from '../domain/installation/setting-store.ts';
import { SETTINGS_DEFAULT } from '../domain/installation/settings.ts';
import { deriveKey } from '../lib/crypto.ts';
import { makeFolder } from '../lib/make-folder.ts';
import { makeOnce } from '../lib/make-once.ts';
import type { LiveSettings } from './live-settings.ts';

/** A slice of an import is held in memory; earlier versions took settings up to twice as large. */
const IMPORT_BATCH_MAX = 50_000;
/** As for APP_SECRET. */
const SECRET_CHARS_MIN = 32;

/** Reads or makes the secret, and refuses one that is not the database's. */
export async function loadInstallation(
  settings: Settings,
  { port, database, live }: { port: number; database: Database; live: Pick<LiveSettings, 'current'> },
): Promise<Installation> {
  const secret = settings.APP_SECRET || keptSecret(path.join(settings.DATA_DIR, 'secret'));
  await checkSecret(database, secret);
  return {
    baseUrl: baseUrlOf(settings, port),
    secret,
    outboundAllowHosts: settings.OUTBOUND_ALLOW_HOSTS,
    sendingPrograms: settings.SENDING_PROGRAMS,
    bounceDomain: settings.BOUNCE_DOMAIN,
    dnsServers: settings.DNS_SERVERS,
    spfTerms: settings.SPF_TERMS,
    eventDays: settings.EVENT_RETENTION_DAYS,
    machine: machineOf(settings),
    trust: trustOf(settings),
    // Read each time: an administrator can change them while the program runs.
    get isInMaintenance() {
      return live.current().maintenance;
    },
    get softBounces() {
      const { softBounceLimit: limit, softBounceDays: days } = live.current();
      return { limit, days };
    },
    get fromAddresses() {
      return live.current().fromAddresses;
    },
    get mailFrom() {
      return live.current().mailFrom;
    },
    get paymentInstructions() {
      return live.current().offlinePaymentInstructions;
    },
    get retention() {
      const { keepLedgerMonths: ledgerMonths, keepEventsMonths: eventMonths } = live.current();
      return { ledgerMonths, eventMonths };
    },
    limits: limitsOf(settings, () => live.current()),
  };
}

function trustOf({ PLUGIN_CHECKSUM, PLUGIN_KEYS, LICENSE, LICENSE_KEYS, RELEASE_KEYS }: Settings): Trust {
  return {
    ...{ pluginChecksum: PLUGIN_CHECKSUM, pluginKeys: PLUGIN_KEYS },
    releaseKeys: RELEASE_KEYS,
    ...{ licenseSource: LICENSE, licenseKeys: LICENSE_KEYS },
  };
}

/** The size and rate limits among the settings; those in the database are read each time. */
export function limitsOf(
  settings: Settings,
  current: LiveSettings['current'] = () => SETTINGS_DEFAULT,
): Installation['limits'] {
  return {
    sendBatchSize: settings.SEND_BATCH_SIZE,
    sendLeaseSeconds: settings.SEND_LEASE_SECONDS,
    sendAttemptsMax: settings.SEND_ATTEMPTS_MAX,
    sendRetryDelaySeconds: settings.SEND_RETRY_DELAY_SECONDS,
    snapshotBatchSize: settings.AUDIENCE_BATCH_SIZE,
    importBatchSize: Math.min(settings.IMPORT_BATCH_SIZE, IMPORT_BATCH_MAX),
    importBytesMax: settings.IMPORT_SIZE_MAX_MB * 1_000_000,
    fileBytesMax: settings.FILE_SIZE_MAX_MB * 1_048_576,
    get bouncePause() {
      const { bouncePausePercent: percent, bouncePauseRecipients: recipients } = current();
      return { percent, recipients };
    },
    get eventsPerDay() {
      return current().eventsPerDay;
    },
    get billingGraceDays() {
      return current().billingGraceDays;
    },
    get sessionDays() {
      const { sessionIdleDays: idle, sessionDaysMax: inAll } = current();
      return { idle, inAll };
    },
  };
}

/** The secret in its file; made on first use. */
function keptSecret(file: string): string {
  makeFolder(path.dirname(file));
  makeOnce(file, `${randomBytes(32).toString('hex')}\n`);
  const secret = readFileSync(file, 'utf8').trim();
  if (secret.length >= SECRET_CHARS_MIN) return secret;
  throw new Error(
    `The file ${file} is ${secret === '' ? 'empty' : 'cut short'}: the keys made from it could be guessed. ` +
      `Restore it from a backup. Delete it only if nothing has been sent or stored yet.`,
  );
}

/**
 * Keeps a fingerprint of the secret in the database. With another secret no stored credential could be decrypted and every link
 * in sent mails would be invalid, so the program does not start.
 */
async function checkSecret(database: Database, secret: string): Promise<void> {
  const fingerprint = fingerprintOf(secret);
  if ((await keepSetting(database, 'installation.secret_fingerprint', fingerprint)) === fingerprint) return;
  throw new Error(
    'APP_SECRET (or the file "secret" in DATA_DIR) is not the one this database was set up with. ' +
      'Give this process the same secret as the others: links in sent mails and stored credentials depend on it.',
  );
}

export function machineOf({ DATA_DIR, APP_SECRET }: Settings): NonNullable<Installation['machine']> {
  return { dataDir: DATA_DIR, keepsSecret: APP_SECRET === '' };
}

/** By it a database knows its secret; the secret cannot be found from it. */
export function fingerprintOf(secret: string): string {
  return deriveKey(secret, 'fingerprint').toString('hex').slice(0, 32);
}

export function baseUrlOf({ BASE_URL, HOST }: Settings, port: number): string {
  return BASE_URL || `http://${hostForUrl(HOST)}:${port}`;
}

function hostForUrl(host: string): string {
  if (host === '0.0.0.0' || host === '::') return 'localhost';
  return host.includes(':') ? `[${host}]` : host;
}
