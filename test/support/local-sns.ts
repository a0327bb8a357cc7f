/**
 * Leads a program's requests to Amazon SNS to this machine. The program is one of its own, so the module that does it is given by `NODE_OPTIONS`; everything
 * else of it is as it runs for everybody.
 */
import { once } from 'node:events';
import { createServer } from 'node:https';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterFile } from './after-file.ts';
import { SNS_ORIGIN } from './sns.ts';
import type { TestCertificate } from './test-certificate.ts';

/** Answers every address with the certificate. Returns settings for the program. */
export async function startLocalSns({ pem, privateKey }: TestCertificate): Promise<Readonly<Record<string, string>>> {
  const key = privateKey.export({ type: 'pkcs8', format: 'pem' });
  const server = createServer({ cert: pem, key }, (_req, res) => res.end(pem));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const folder = mkdtempSync(path.join(os.tmpdir(), 'mailwright-sns-'));
  afterFile(() => {
    server.closeAllConnections();
    server.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const { port } = server.address() as AddressInfo;
  const file = path.join(folder, 'sns.mjs');
  writeFileSync(
    file,
    `import dns from 'node:dns';
import https from 'node:https';
import { syncBuiltinESMExports } from 'node:module';
const HOST = ${JSON.stringify(new URL(SNS_ORIGIN).hostname)};
const { lookup } = dns;
// A public address, which requests of plugins may go to.
dns.lookup = (host, options, done) => (host === HOST ? done(null, [{ address: '52.95.0.1', family: 4 }]) : lookup(host, options, done));
syncBuiltinESMExports();
const { createConnection } = https.Agent.prototype;
https.Agent.prototype.createConnection = function (options, done) {
  if (options.host !== HOST) return createConnection.call(this, options, done);
  return createConnection.call(this, { ...options, host: '127.0.0.1', port: ${port}, lookup: undefined, rejectUnauthorized: false }, done);
};
`,
  );
  return { NODE_OPTIONS: `--import=${pathToFileURL(file).href}` };
}
