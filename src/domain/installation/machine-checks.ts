/** Checks of the machine on which they run, and of the installation's own names in the DNS. */
import { readFile, stat, statfs } from 'node:fs/promises';
import path from 'node:path';
import { createDnsQuery, limitedDnsQuery, type DnsAnswer } from '../../lib/dns-records.ts';
import { isPublicAddress } from '../../lib/public-address.ts';
import { readableBytes } from '../../lib/units.ts';
import type { Installation } from '../context.ts';
import { fault, ok, warning, type CheckResult } from './check-result.ts';

type Facts = Pick<Installation, 'baseUrl' | 'bounceDomain' | 'dnsServers' | 'machine'>;

/** Below this, sending stops (app/heartbeat). */
const FREE_BYTES_MIN = 64 * 1_024 * 1_024;
/** A campaign of a million recipients writes about this much. */
const FREE_BYTES_WARN = 2 * 1_024 * 1_024 * 1_024;
/** A host of a URL that is no name: the last part of a name has a letter. */
const ADDRESS = /^[\d.]+$|^\[/;
/** A person waits. */
const DNS_MS_MAX = 5_000;

/** Space for the data; with a database elsewhere this is only its folder here. */
export async function diskCheck({ machine }: Facts): Promise<CheckResult> {
  if (!machine) return ok('Not checked here.');
  const { bavail, bsize } = await statfs(machine.dataDir);
  const free = bavail * bsize;
  const message = `${readableBytes(free)} are free in DATA_DIR.`;
  const advice =
    'Make space, or move DATA_DIR to a larger disk. keep_ledger_months and keep_events_months limit what is kept.';
  if (free < FREE_BYTES_MIN) return fault(message, advice);
  return free < FREE_BYTES_WARN ? warning(message, advice) : ok(message);
}

/** The secret must be readable by its owner only. */
export async function secretCheck({ machine }: Facts): Promise<CheckResult> {
  if (!machine?.keepsSecret) return ok('The secret comes from APP_SECRET.');
  const file = path.join(machine.dataDir, 'secret');
  const info = await stat(file).catch(() => undefined);
  if (!info || (await readFile(file, 'utf8').catch(() => '')).trim() === '')
    return fault(
      'The file "secret" in DATA_DIR is missing, empty or cannot be read.',
      'Restore it from a backup: without it stored credentials and the links in sent mails are lost.',
    );
  if ((info.mode & 0o077) !== 0)
    return fault(
      'Other users of this machine can read the file "secret" in DATA_DIR.',
      `Run: chmod 600 ${file}. If others may have read it, change the credentials of your sending servers.`,
    );
  return ok('Only its owner can read the secret. Keep a copy in another place.');
}

/** Links in mails lead there. */
export async function baseUrlCheck({ baseUrl, dnsServers }: Facts): Promise<CheckResult> {
  const { hostname, protocol } = new URL(baseUrl);
  const advice = 'Set BASE_URL to the https:// address by which recipients reach this installation.';
  const host = hostname.replace(/^\[|\]$/g, '');
  const isAddress = ADDRESS.test(hostname);
  if (host === 'localhost' || (isAddress && !isPublicAddress(host)))
    return warning(`BASE_URL is ${baseUrl}: recipients cannot open the links in mails.`, advice);
  if (!isAddress) {
    const query = limitedDnsQuery(DNS_MS_MAX, createDnsQuery(dnsServers));
    const answers = await Promise.all([query('A', host), query('AAAA', host)]);
    const addresses = answers.flatMap((answer) => (answer.status === 'found' ? answer.values : []));
    const failed = answers.find((answer) => answer.status === 'failed');
    if (addresses.length === 0 && failed) return notAsked(host, failed);
    if (addresses.length === 0)
      return fault(
        `The host name ${host} of BASE_URL has no address in the DNS.`,
        `Add an A or AAAA record for ${host}.`,
      );
    if (!addresses.some((address) => isPublicAddress(address)))
      return warning(`The host name ${host} of BASE_URL leads to a private address only.`, advice);
  }
  if (protocol !== 'https:')
    return warning('BASE_URL begins with http://: logins and links are not encrypted.', advice);
  return ok(`BASE_URL is ${baseUrl}.`);
}

/** Bounces come back by its MX record. */
export async function bounceDomainCheck({ bounceDomain, dnsServers }: Facts): Promise<CheckResult> {
  if (!bounceDomain) return ok('BOUNCE_DOMAIN is not set.');
  const answer = await limitedDnsQuery(DNS_MS_MAX, createDnsQuery(dnsServers))('MX', bounceDomain);
  if (answer.status === 'failed') return notAsked(bounceDomain, answer);
  if (answer.status === 'none')
    return fault(
      `${bounceDomain} (BOUNCE_DOMAIN) has no MX record: bounces do not come back.`,
      'Add an MX record that leads to the machine with BOUNCE_SMTP_PORT, or to the server of the bounce mailbox.',
    );
  return ok(`Bounces to ${bounceDomain} go to ${answer.values[0] ?? ''}.`);
}

function notAsked(name: string, answer: DnsAnswer): CheckResult {
  const reason = answer.status === 'failed' ? answer.reason : '';
  return warning(
    `The DNS could not be asked about ${name}: ${reason}.`,
    'Check the name servers of this machine, or set DNS_SERVERS.',
  );
}
