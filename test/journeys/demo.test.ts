/** `npm run demo` as a newcomer runs it: against the running product, refused where mails would leave, on its own. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { afterFile } from '../support/after-file.ts';
import { startProgram } from '../support/program.ts';
import { scriptedSmtpServer } from '../support/scripted-smtp-server.ts';
import { createTestDatabase } from '../support/test-database.ts';

const DEMO = path.resolve('scripts/demo.ts');

async function demo(...options: readonly string[]): Promise<{ code: number | null; output: string }> {
  const env = { PATH: process.env['PATH'], HOME: process.env['HOME'] };
  const child = spawn(process.execPath, [DEMO, ...options], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  await once(child, 'close');
  return { code: child.exitCode, output };
}

/** The number behind a word of the report. */
function figure(output: string, pattern: RegExp): number {
  return Number(pattern.exec(output)?.[1]?.replaceAll(',', ''));
}

describe('npm run demo', () => {
  it('imports, sends, reads and reports against the running product', async () => {
    const { url: DATABASE_URL } = await createTestDatabase();
    const product = await startProgram({ DATABASE_URL, INBOX: 'on', INBOX_SMTP_PORT: '0' });
    const { code, output } = await demo('--url', product.baseUrl, '--token', product.token, '--people', '200');
    expect(output).toContain('Imported      200 people');
    expect(output).toMatch(/8 lines rejected\n +line \d+: /);
    expect(output).toContain('Sent          200 of 200 mails');
    const readers = figure(output, /\d+ of (\d+) people who read their mail/);
    expect(readers).toBeGreaterThan(50);
    // Who reads has loaded the pixel or clicked, which proves it as well.
    expect(figure(output, /Opened by +(\d+)/)).toBe(readers);
    const clickers = figure(output, /Clicked by +(\d+)/);
    expect(clickers).toBeGreaterThan(10);
    expect(clickers).toBeLessThan(readers);
    const unsubscribed = figure(output, /Unsubscribed +(\d+)/);
    expect(unsubscribed).toBeGreaterThan(0);
    expect(output).toContain(`the list has ${200 - unsubscribed} subscribed and ${unsubscribed} unsubscribed`);
    expect(code).toBe(0);

    // The same people do the same things again.
    const again = await demo('--url', product.baseUrl, '--token', product.token, '--people', '200');
    expect(figure(again.output, /Opened by +(\d+)/)).toBe(readers);
  });

  it('refuses to write to invented people through a real sending server', async () => {
    const { url: DATABASE_URL } = await createTestDatabase();
    const product = await startProgram({ DATABASE_URL, INBOX: 'on', INBOX_SMTP_PORT: '0' });
    await using server = await scriptedSmtpServer();
    const settings = {
      'settings[host]': '127.0.0.1',
      'settings[port]': String(server.port),
      'settings[encryption]': 'none',
    };
    const made = await fetch(`${product.baseUrl}/api/v1/sending_servers`, {
      method: 'POST',
      headers: { authorization: `Bearer ${product.token}` },
      body: new URLSearchParams({ name: 'Our relay', type: 'smtp', ...settings }),
    });
    expect(made.status).toBe(201);
    const { code, output } = await demo('--url', product.baseUrl, '--token', product.token);
    expect(output).toContain('Our relay');
    expect(output).toContain('npm run demo -- --own');
    expect(code).toBe(1);
  });

  it('starts a product of its own when asked, and stops it', async () => {
    const dataDir = mkdtempSync(path.join(os.tmpdir(), 'mailwright-demo-'));
    afterFile(() => rmSync(dataDir, { recursive: true, force: true }));
    const { code, output } = await demo('--own', '--once', '--people', '20', '--data-dir', dataDir);
    expect(output).toContain('Sent          20 of 20 mails');
    expect(code).toBe(0);
    expect(existsSync(path.join(dataDir, 'postgres', 'data', 'postmaster.pid'))).toBe(false);
  });

  it('says what is wrong in a sentence', async () => {
    const nobody = await demo('--url', 'http://127.0.0.1:9', '--token', 'x');
    expect(nobody).toEqual({ code: 1, output: expect.stringContaining('No Mailwright answers at http://127.0.0.1:9') });
    const few = await demo('--people', '3');
    expect(few).toEqual({ code: 1, output: expect.stringContaining('from 10 to 5000') });
  });
});
