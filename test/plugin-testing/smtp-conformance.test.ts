/** The product's own driver keeps the contract of sending drivers, as the suite for plugins plays it. */
import { describe, expect, test } from 'vitest';
import { plugin } from '../../plugins/mailwright/smtp/index.ts';
import { silentLog } from '../../src/lib/log.ts';
import { createHookBus } from '../../src/plugin-host/hook-bus.ts';
import { sendingDriverConformance } from '../../src/plugin-testing/sending-driver-conformance.ts';
import { startSmtpVendor } from '../support/smtp-vendor.ts';

const bus = createHookBus(silentLog);
bus.register(plugin);
bus.boot(plugin);
bus.goLive(plugin.name);
const [registration] = bus.collect('register_sending_server_driver');
if (!registration) throw new Error('The plugin registers no driver.');

describe.each([
  ['lockstep', []],
  ['pipelined', ['PIPELINING', '8BITMIME', 'SMTPUTF8']],
  ['chunked', ['PIPELINING', 'CHUNKING', '8BITMIME', 'SMTPUTF8']],
] as const)('%s', (_mode, extensions) => {
  const rules = sendingDriverConformance(registration, {
    startVendor: () => startSmtpVendor(extensions),
    wrongSettings: {
      ...{ host: 'a b', port: 70_000, encryption: 'ssl', username: 'a\r\nb', window: 'x', max_connections: 0 },
      ...{ auth: 'ntlm', messages_per_connection: -1, idle_seconds: 'soon' },
    },
  });
  test.each(rules)('$name', ({ check }) => check());
  test('are all rules for a driver with growing connections', () => expect(rules).toHaveLength(18));
});
