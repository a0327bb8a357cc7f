/** The SMTP driver with one connection to a server in the process of the test. */
import { validateSettings } from '../../plugins/mailwright/smtp/settings.ts';
import { connectSmtp } from '../../plugins/mailwright/smtp/smtp-driver.ts';
import type { SendingDriver } from '../../src/plugin-api/index.ts';

export function smtpDriverAt(port: number): SendingDriver {
  const checked = validateSettings({ host: '127.0.0.1', port, encryption: 'none', connections: 1 });
  if (!checked.ok) throw new Error(JSON.stringify(checked.errors));
  // Nothing here is late by itself: a busy machine may be.
  return connectSmtp(checked.settings, { connectionsMax: 1, clientName: 'client.test', replyTimeoutMs: 30_000 });
}
