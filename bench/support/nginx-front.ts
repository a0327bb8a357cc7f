/** nginx with TLS in front of a server of a bench, with connections to it that stay open: what most installations have. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../src/db/free-port.ts';

export interface NginxFront {
  readonly port: number;
  readonly pid: number;
  stop(): Promise<void>;
}

const TRIES_MAX = 200;
const TRY_EVERY_MS = 25;

/** Starts one in front of a port of 127.0.0.1. */
export async function startNginxFront(upstreamPort: number): Promise<NginxFront> {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'mailwright-bench-nginx-'));
  const port = await freePort();
  const [certificate, key] = [path.join(folder, 'certificate.pem'), path.join(folder, 'key.pem')];
  const kind = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-subj', '/CN=bench'];
  execFileSync('openssl', ['req', ...kind, '-keyout', key, '-out', certificate], { stdio: 'pipe' });
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `${name}_temp_path ${folder}/${name};`)
    .join(' ');
  writeFileSync(
    path.join(folder, 'nginx.conf'),
    `daemon off; master_process off; pid ${folder}/nginx.pid;
events { worker_connections 4096; }
http {
  access_log off; ${temporary} keepalive_requests 1000000000;
  upstream program { server 127.0.0.1:${upstreamPort}; keepalive 64; keepalive_requests 1000000000; }
  server {
    listen 127.0.0.1:${port} ssl; ssl_certificate ${certificate}; ssl_certificate_key ${key};
    location / {
      proxy_pass http://program; proxy_http_version 1.1; proxy_set_header Connection "";
      proxy_set_header Host $host; proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
    }
  }
}`,
  );
  const arguments_ = ['-p', folder, '-e', 'stderr', '-c', path.join(folder, 'nginx.conf')];
  const child = spawn('/usr/sbin/nginx', arguments_, { stdio: ['ignore', 'ignore', 'inherit'] });
  const gone = once(child, 'exit');
  const endWithUs = (): void => void child.kill('SIGKILL');
  process.once('exit', endWithUs);
  for (let tries = 0; !(await listens(port)); tries++) {
    if (tries === TRIES_MAX || child.exitCode !== null) throw new Error('nginx did not start.');
    await sleep(TRY_EVERY_MS);
  }
  return {
    port,
    pid: child.pid ?? 0,
    async stop() {
      child.kill('SIGKILL');
      await gone;
      process.off('exit', endWithUs);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' });
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}
