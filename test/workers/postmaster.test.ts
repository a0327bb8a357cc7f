/** Mail to the postmaster of a bounce domain reaches the administrators, whatever characters it has. */
import { expect, test, vi } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { receivePostmasterMail } from '../../src/domain/bounces/receive-postmaster-mail.ts';
import { startRestApp } from '../support/rest-app.ts';

const app = await startRestApp({ ROLES: 'web,worker,cron', INBOX: 'on', INBOX_SMTP_PORT: '0' });

test('its beginning is mailed to every administrator', async () => {
  const administrators = await queryRows<{ email: string }>(
    app.ctx.db,
    sql`SELECT email FROM app_user WHERE is_admin ORDER BY id`,
  );
  expect(administrators.length).toBeGreaterThan(0);
  const raw = Buffer.from(
    `From: ann@elsewhere.example\r\nSubject: ${'x'.repeat(299)}😀\r\n\r\nYour bounces loop.\0 ${'y'.repeat(3_980)}😀\r\n`,
  );
  expect(await receivePostmasterMail(app.ctx, { raw, client: '203.0.113.7' })).toBe('taken');
  for (const { email } of administrators) {
    const mails = await vi.waitFor(
      async () => {
        const found = await queryRows<{ raw: Buffer }>(
          app.ctx.db,
          sql`SELECT raw FROM inbox.message WHERE ${email} = ANY (rcpt_to)`,
        );
        expect(found).toHaveLength(1);
        return found;
      },
      { timeout: 120_000, interval: 100 },
    );
    expect(mails[0]?.raw.toString()).toContain('Your bounces loop.');
  }
});
