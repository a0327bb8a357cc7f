/** A real nginx with TLS in front of the program, configured by the block of the manual's page. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { request, type RequestOptions } from 'node:https';
import type { LookupFunction } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from './free-port.ts';
import { afterFile } from './after-file.ts';

const FOLDERS = [...(process.env['PATH'] ?? '').split(':'), '/usr/sbin'];
const installed = (name: string): string | undefined => FOLDERS.map((folder) => `${folder}/${name}`).find(existsSync);

/** The program itself; undefined: it is not installed, or openssl, which makes its certificate, is not. */
export const NGINX = installed('openssl') && installed('nginx');

const MANUAL = path.resolve(import.meta.dirname, '../../docs/manual/operations.md');
/** The name in the manual's block. */
export const PROXY_HOST = 'mail.example.com';
const READY_TIMEOUT_MS = 120_000;

export interface ProxiedAnswer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
}

export interface ProxiedRequest {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** The client's own address, one of the loopback network. */
  readonly from?: string;
}

export interface Nginx {
  /** Without port: what stands in links. */
  readonly origin: string;
  readonly port: number;
  /** For clients of their own: leads the name to this server, and trusts its certificate. */
  readonly tls: { readonly ca: string; readonly lookup: LookupFunction };
  /** Answers when the headers are there. Redirects are not followed. */
  open(path: string, request?: ProxiedRequest): Promise<IncomingMessage>;
  ask(path: string, request?: ProxiedRequest): Promise<ProxiedAnswer>;
}

/** The `nginx` block of the manual, as it stands there. */
function manualBlock(): string {
  const block = /```nginx\n([\s\S]*?)```/.exec(readFileSync(MANUAL, 'utf8'))?.[1];
  if (block === undefined) throw new Error(`No nginx block in ${MANUAL}.`);
  return block;
}

/** Starts it in front of a program; it ends after the file's last test. */
export async function startNginx(upstream: URL): Promise<Nginx> {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'mailwright-nginx-'));
  const port = await freePort();
  const host = PROXY_HOST;
  const [certificate, key] = [path.join(folder, 'certificate.pem'), path.join(folder, 'key.pem')];
  makeCertificate({ certificate, key, host });
  const server = fillIn(manualBlock(), [
    ['listen 443 ssl;', `listen 127.0.0.1:${port} ssl;`],
    ['http://127.0.0.1:3000;', `http://${upstream.host};`],
    [/ssl_certificate .*;/, `ssl_certificate ${certificate};`],
    [/ssl_certificate_key .*;/, `ssl_certificate_key ${key};`],
  ]);
  const config = path.join(folder, 'nginx.conf');
  writeFileSync(config, wholeConfig(folder, server));
  const child = spawn(NGINX ?? 'nginx', ['-p', folder, '-e', 'stderr', '-c', config], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const said: string[] = [];
  child.stderr.on('data', (chunk: Buffer) => said.push(chunk.toString()));
  const gone = once(child, 'exit');
  const endWithUs = (): void => void child.kill('SIGKILL');
  process.once('exit', endWithUs);
  afterFile(async () => {
    child.kill('SIGKILL');
    await gone;
    process.off('exit', endWithUs);
    rmSync(folder, { recursive: true, force: true });
  });
  const nginx = clientOf({ port, host, ca: readFileSync(certificate, 'utf8') });
  const deadline = performance.now() + READY_TIMEOUT_MS;
  while (!(await nginx.ask('/healthz').catch(() => undefined))) {
    if (child.exitCode !== null || performance.now() > deadline)
      throw new Error(`nginx did not start with the manual's block:\n${said.join('')}`);
    await sleep(25);
  }
  return nginx;
}

/** Every place must be there: a block that says something else is not the one that is tried. */
function fillIn(block: string, places: readonly (readonly [string | RegExp, string])[]): string {
  return places.reduce((text, [place, value]) => {
    const filled = text.replace(place, () => value);
    if (filled === text) throw new Error(`The manual's nginx block has no ${String(place)}.`);
    return filled;
  }, block);
}

/** One process without another user: it can be killed, and files in the folder are its own. All else is nginx's default. */
function wholeConfig(folder: string, server: string): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `${name}_temp_path ${folder}/${name};`)
    .join('\n');
  return `daemon off;
master_process off;
pid ${folder}/nginx.pid;
events {}
http {
access_log off;
${temporary}
${server}
}
`;
}

function makeCertificate({ certificate, key, host }: { certificate: string; key: string; host: string }): void {
  const kind = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
  const name = ['-subj', `/CN=${host}`, '-addext', `subjectAltName=DNS:${host}`];
  execFileSync('openssl', ['req', ...kind, ...name, '-keyout', key, '-out', certificate], { stdio: 'pipe' });
}

function clientOf({ port, host, ca }: { port: number; host: string; ca: string }): Nginx {
  const lookup: LookupFunction = (_name, _options, found) => found(null, [{ address: '127.0.0.1', family: 4 }]);
  const open: Nginx['open'] = (path_, { method = 'GET', headers = {}, body, from } = {}) =>
    new Promise((resolve, reject) => {
      const options: RequestOptions = {
        ...{ host: '127.0.0.1', servername: host, port, ca, path: path_, method, agent: false },
        headers: { host, ...headers },
        ...(from === undefined ? {} : { localAddress: from }),
      };
      request(options, resolve).on('error', reject).end(body);
    });
  return {
    origin: `https://${host}`,
    port,
    tls: { ca, lookup },
    open,
    async ask(path_, asked) {
      const answer = await open(path_, asked);
      const pieces: Buffer[] = [];
      for await (const piece of answer) pieces.push(piece);
      return { status: answer.statusCode ?? 0, headers: answer.headers, text: Buffer.concat(pieces).toString() };
    },
  };
}
