/** What this installation is: its secret, its address, its limits. */
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { Settings } from '../config/settings.ts';
import { sql, type Database } from '../db/database.ts';
import type { Installation } from '../domain/context.ts';
import { deriveKey } from '../lib/crypto.ts';
import { makeFolder } from '../lib/make-folder.ts';
import { makeOnce } from '../lib/make-once.ts';

/** As for APP_SECRET. */
const SECRET_CHARS_MIN = 32;

/** Reads or makes the secret, and refuses one that is not the database's. */
export async function loadInstallation(settings: Settings, port: number, database: Database): Promise<Installation> {
  const secret = settings.APP_SECRET || keptSecret(path.join(settings.DATA_DIR, 'secret'));
  await checkSecret(database, secret);
  return {
    baseUrl: settings.BASE_URL || `http://${hostForUrl(settings.HOST)}:${port}`,
    secret,
    outboundAllowHosts: settings.OUTBOUND_ALLOW_HOSTS,
    isInMaintenance: settings.MAINTENANCE === 'on',
    bounceDomain: settings.BOUNCE_DOMAIN,
    softBounces: { limit: settings.SOFT_BOUNCE_LIMIT, days: settings.SOFT_BOUNCE_DAYS },
    dnsServers: settings.DNS_SERVERS,
    spfTerms: settings.SPF_TERMS,
    fromAddresses: settings.FROM_ADDRESSES,
    mailFrom: settings.MAIL_FROM,
    paymentInstructions: settings.OFFLINE_PAYMENT_INSTRUCTIONS,
    limits: limitsOf(settings),
  };
}

/** The sizes and paces among the settings. */
export function limitsOf(settings: Settings): Installation['limits'] {
  return {
    sendBatchSize: settings.SEND_BATCH_SIZE,
    sendLeaseSeconds: settings.SEND_LEASE_SECONDS,
    sendAttemptsMax: settings.SEND_ATTEMPTS_MAX,
    sendRetryDelaySeconds: settings.SEND_RETRY_DELAY_SECONDS,
    bouncePause: { percent: settings.BOUNCE_PAUSE_PERCENT, recipients: settings.BOUNCE_PAUSE_RECIPIENTS },
    planBatchSize: settings.PLAN_BATCH_SIZE,
    importBatchSize: settings.IMPORT_BATCH_SIZE,
    importBytesMax: settings.IMPORT_SIZE_MAX_MB * 1_000_000,
    fileBytesMax: settings.FILE_SIZE_MAX_MB * 1_048_576,
    billingGraceDays: settings.BILLING_GRACE_DAYS,
    sessionDays: { idle: settings.SESSION_IDLE_DAYS, inAll: settings.SESSION_DAYS_MAX },
  };
}

/** The secret in its file; made on first use. */
function keptSecret(file: string): string {
  makeFolder(path.dirname(file));
  makeOnce(file, `${randomBytes(32).toString('hex')}\n`);
  const secret = readFileSync(file, 'utf8').trim();
  if (secret.length >= SECRET_CHARS_MIN) return secret;
  throw new Error(
    `The file ${file} is ${secret === '' ? 'empty' : 'cut short'}: keys that everybody can guess would be made of it. ` +
      `Put it back from a backup. Only where nothing has been sent or stored yet, delete it.`,
  );
}

/**
 * Keeps a fingerprint of the secret in the database. Another secret would make every sealed credential unreadable
 * and every link in every mail that was sent invalid, so it stops the start.
 */
async function checkSecret(database: Database, secret: string): Promise<void> {
  const fingerprint = deriveKey(secret, 'fingerprint').toString('hex').slice(0, 32);
  const [row] = await database.query<{ value: string }>(
    sql`INSERT INTO setting (key, value) VALUES ('installation.secret_fingerprint', ${JSON.stringify(fingerprint)}::jsonb)
        ON CONFLICT (key) DO UPDATE SET key = excluded.key RETURNING value`,
  );
  if (row?.value === fingerprint) return;
  throw new Error(
    'APP_SECRET (or the file "secret" in DATA_DIR) is not the one this database was set up with. ' +
      'Give this process the same secret as the others: links in sent mails and stored credentials depend on it.',
  );
}

function hostForUrl(host: string): string {
  if (host === '0.0.0.0' || host === '::') return 'localhost';
  return host.includes(':') ? `[${host}]` : host;
}
