/**
 * C10: every part of the product that asks other servers refuses the same hostile hosts and answers of name servers before it connects.
 * The callers are read from the imports: a new one has to be played here.
 */
import { readFileSync, rmSync, mkdtempSync } from 'node:fs';
import type dns from 'node:dns';
import { Socket } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { pluginFetch } from '../../src/app/plugin-fetch.ts';
import { openMailbox } from '../../src/domain/bounces/open-mailbox.ts';
import type { Context } from '../../src/domain/context.ts';
import { uploadFileFromUrl } from '../../src/domain/files/upload-file-from-url.ts';
import { refreshLicense } from '../../src/domain/installation/refresh-license.ts';
import { installPlugin } from '../../src/domain/plugins/install-plugin.ts';
import { trackingProbe } from '../../src/domain/sending/domains/tracking-probe.ts';
import { driverOptions } from '../../src/domain/sending/driver-options.ts';
import { formPoster } from '../../src/domain/sending/form-poster.ts';
import { trySettings } from '../../src/domain/sending/try-settings.ts';
import { tryVerifier } from '../../src/domain/verification/open-verifier.ts';
import { ReceiverConnections } from '../../src/domain/webhooks/receiver-connections.ts';
import { silentLog } from '../../src/lib/log.ts';
import type { EmailVerifierRegistration } from '../../src/plugin-api/index.ts';
import { ProcessReleases } from '../../src/release-host/release-host.ts';
import { isProduct, readProject } from '../architecture/project-files.ts';
import { afterFile } from '../support/after-file.ts';
import { startDnsServer, zoneOf } from '../support/dns-zone.ts';
import { HOSTILE_HOSTS } from '../support/hostile-hosts.ts';
import { startRestApp } from '../support/rest-app.ts';
import { createTenant } from '../support/tenant.ts';
import { withHooks } from '../support/with-hooks.ts';

const HERE = [{ address: '127.0.0.1', family: 4 }];
// Nobody answers there.
const THERE = [{ address: '203.0.112.7', family: 4 }];
/** Answers of name servers (C9): each look-up gets the next one. */
const ANSWERS: Readonly<Record<string, readonly (typeof HERE)[]>> = {
  'alias.example': [HERE],
  'mixed.example': [[...THERE, ...HERE]],
  'mixed-again.example': [[...HERE, ...THERE]],
  'six.example': [[{ address: '::1', family: 6 }]],
  'mapped.example': [[{ address: '::ffff:127.0.0.1', family: 6 }]],
  'nat64.example': [[{ address: '64:ff9b::7f00:1', family: 6 }]],
  'metadata.example': [[{ address: '169.254.169.254', family: 4 }]],
  'nowhere.example': [[{ address: '0.0.0.0', family: 4 }]],
  'nobody.example': [[]],
};
const NAMES: readonly string[] = ['localhost', 'localhost.', 'ip6-localhost', 'intranet', 'db.internal'];

vi.mock('node:dns', async (original) => ({
  ...(await original<typeof dns>()),
  lookup: (host: string, _options: object, callback: (error: Error | null, addresses?: typeof HERE) => void) => {
    const isAddress = /^\d+\.\d+\.\d+\.\d+$/.test(host) || host.includes(':');
    const literal = isAddress ? [{ address: host, family: host.includes(':') ? 6 : 4 }] : undefined;
    const answer =
      literal ?? ANSWERS[host.toLowerCase()]?.[0] ?? (NAMES.includes(host.toLowerCase()) ? HERE : undefined);
    if (answer) callback(null, [...answer]);
    else callback(Object.assign(new Error('not found'), { code: 'ENOTFOUND' }));
  },
}));

/** Every attempt of this process to open a connection, but to its own database. */
const attempts: string[] = [];
let databasePort = 0;
const connect = Socket.prototype.connect;
Socket.prototype.connect = function (this: Socket, ...given: unknown[]) {
  this.once('connectionAttempt', (address: string, port: number) => {
    if (port !== databasePort) attempts.push(`${address}:${port}`);
  });
  return Reflect.apply(connect, this, given);
} as typeof connect;
afterFile(() => void (Socket.prototype.connect = connect));
beforeEach(() => {
  attempts.length = 0;
  allowed.length = 0;
});

const app = await startRestApp();
databasePort = Number(new URL(app.ctx.database.url).port);
const zone = await startDnsServer(
  zoneOf({ 'A localhost': '127.0.0.1', 'A alias.example': '127.0.0.1', 'A metadata.example': '169.254.169.254' }),
);
const tenant = await createTenant(app.ctx);
const viewer = tenant.viewer && { ...tenant.viewer, isAdmin: true };
/** What the operator allows. */
const allowed: string[] = [];
const installation = { ...app.ctx.installation, outboundAllowHosts: allowed, dnsServers: [zone.address] };
const ctx: Context = { ...tenant, viewer, installation };
const folder = mkdtempSync(path.join(os.tmpdir(), 'mailwright-callers-'));
afterFile(() => {
  zone.close();
  rmSync(folder, { recursive: true });
});

const verifier: EmailVerifierRegistration = {
  ...{ type: 'hostile-verifier', name: 'Hostile', description: 'Asks a host.', addressesMax: 1, callsMax: 1 },
  ...{ configKeys: ['origin'], secretKeys: [] },
  validate: ({ origin }) => ({ ok: true, settings: { origin: String(origin) } }),
  connect: ({ origin }, { openHttp }) => {
    if (!openHttp) throw new Error('The host gives no way to a server.');
    const pool = openHttp(String(origin), { connections: 1, timeoutMs: 3_000 });
    return {
      verify: () => Promise.resolve([]),
      test: async () => ({ ok: (await pool.request({ method: 'GET', path: '/' })).status > 0 }) as { ok: true },
      close: () => Promise.resolve(pool.close()),
    };
  },
};
withHooks(app.hooks, { register: (hooks) => hooks.add('register_email_verifier', verifier) });

interface Hostile {
  readonly host: string;
  readonly url: string;
  /** `http://` and the host, as the platform reads it. */
  readonly origin: string;
  readonly hostname: string;
}

const own = { connectionsMax: 1, clientName: 'test', replyTimeoutMs: 3_000 };
const mailbox = { port: 1110, encryption: 'none', username: 'u', password: 'p', folder: 'INBOX' } as const;

/** The file to what it does with a host. Each must fail. */
const CALLERS: Readonly<Record<string, readonly ((hostile: Hostile) => Promise<unknown>)[]>> = {
  'src/domain/files/upload-file-from-url.ts': [({ url }) => uploadFileFromUrl(ctx, { url })],
  'src/domain/plugins/install-plugin.ts': [({ url }) => installPlugin(ctx, { url, sha256: '0'.repeat(64) })],
  'src/app/plugin-fetch.ts': [
    ({ url, hostname }) => {
      const rights = { hosts: [hostname], scopes: [], hooks: [] } as never;
      const use = () => ({ ...ctx, installation }) as never;
      return pluginFetch({ plugin: 'acme/hello', key: {} as never, rights, use, onEnd: () => undefined })(url);
    },
  ],
  'src/release-host/release-host.ts': [({ url }) => stageFrom(url)],
  'src/domain/installation/refresh-license.ts': [
    ({ url }) => {
      const trust = { ...installation.trust, licenseSource: url, licenseKeys: ['key'] } as never;
      return refreshLicense({ ...ctx, installation: { ...installation, trust } });
    },
  ],
  'src/domain/sending/domains/tracking-probe.ts': [
    async ({ hostname }) => {
      const probed = await trackingProbe(installation)(hostname);
      if ('refusal' in probed) throw new Error(probed.refusal);
    },
  ],
  'src/domain/sending/form-poster.ts': [({ url }) => formPoster(ctx)(url, { a: 'b' })],
  'src/domain/sending/driver-options.ts': [
    ({ origin }) => openedBy(driverOptions(ctx, { isSystem: false }, own).openHttp, origin),
    ({ host }) =>
      trySettings(ctx, { type: 'smtp', settings: { host, port: 2525, encryption: 'none' }, isSystem: false }),
  ],
  'src/domain/verification/open-verifier.ts': [
    ({ origin }) => tryVerifier(ctx, { type: verifier.type, settings: { origin }, isSystem: false }),
  ],
  'src/domain/bounces/open-mailbox.ts': (['imap', 'pop3'] as const).map(
    (protocol) =>
      ({ host }) =>
        openMailbox(ctx, { address: { ...mailbox, protocol, host }, isSystem: false, msMax: 3_000 }),
  ),
  'src/domain/webhooks/receiver-connections.ts': [
    ({ origin }) => new ReceiverConnections(installation).request(origin, { method: 'POST', path: '/', body: '{}' }),
  ],
};
/** They judge addresses, and connect to nobody. */
const JUDGES = ['src/domain/webhooks/webhook-target.ts', 'src/domain/installation/machine-checks.ts'];

async function openedBy(open: ReturnType<typeof driverOptions>['openHttp'], origin: string): Promise<unknown> {
  if (!open) return undefined;
  const pool = open(origin, { connections: 1, timeoutMs: 3_000 });
  return pool.request({ method: 'GET', path: '/' }).finally(() => pool.close());
}

async function stageFrom(url: string): Promise<void> {
  const releases = new ProcessReleases({
    dataDir: folder,
    own: path.resolve(import.meta.dirname, '../..'),
    hasParent: true,
    log: silentLog,
  });
  const source = { url, sha256: '0'.repeat(64), signature: 'x', keys: ['key'], allowedHosts: allowed };
  expect(releases.stage(source)).toBe(true);
  await expect.poll(() => releases.status().state, { interval: 2 }).toBe('failed');
  throw new Error(releases.status().reason ?? '');
}

test('every file of the product that asks other servers is played below', () => {
  const root = path.resolve(import.meta.dirname, '../..');
  const asks = /\b(?:openOutbound|callOutbound|postOutboundForm|openOutboundPool|addressGuard|isPublicAddress)\(/;
  const found = readProject(root)
    .filter((file) => isProduct(file) && !/^src\/(?:lib|plugin-testing)\//.test(file.path))
    .filter((file) => asks.test(readFileSync(path.join(root, file.path), 'utf8')))
    .map((file) => file.path);
  expect(found.toSorted()).toEqual([...Object.keys(CALLERS), ...JUDGES].toSorted());
});

function hostileBy(host: string): Hostile {
  const url = `http://${host}/`;
  const { origin, hostname } = URL.canParse(url) ? new URL(url) : { origin: 'http://127.0.0.1', hostname: host };
  return { host, url, origin, hostname };
}

const hostile = [...HOSTILE_HOSTS, ...Object.keys(ANSWERS)].map(hostileBy);

describe.each(Object.entries(CALLERS))('%s', (_file, plays) => {
  const failed = (play: (typeof plays)[number], one: Hostile) =>
    expect(
      Promise.resolve().then(() => play(one)),
      one.host,
    ).rejects.toThrow();

  test(`connects to none of ${hostile.length} hosts`, async () => {
    expect(hostile.length).toBeGreaterThanOrEqual(120);
    for (const one of hostile) for (const play of plays) await failed(play, one);
    expect(attempts).toEqual([]);
  });

  // Without this a call that fails for another reason would look well guarded.
  test('connects where the operator allows it', async () => {
    for (const play of plays) {
      attempts.length = 0;
      allowed.splice(0, allowed.length, 'localhost');
      await Promise.resolve()
        .then(() => play(hostileBy('localhost')))
        .catch(() => undefined);
      expect(attempts).not.toEqual([]);
    }
  });
});
