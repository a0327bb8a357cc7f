/** The drivers for mail programs of this machine keep the contract of sending drivers, as the suite for plugins plays it. */
import { describe, expect, test } from 'vitest';
import { plugin } from '../../plugins/mailwright/sendmail/index.ts';
import { silentLog } from '../../src/lib/log.ts';
import { createHookBus } from '../../src/plugin-host/hook-bus.ts';
import { sendingDriverConformance } from '../../src/plugin-testing/sending-driver-conformance.ts';
import { makeSendmail } from '../support/sendmail-program.ts';

const bus = createHookBus(silentLog);
bus.register(plugin);
bus.boot(plugin);
bus.goLive(plugin.name);
const drivers = bus.collect('register_sending_server_driver');

test('there is one under each name', () => {
  expect(drivers.map(({ type, programKeys }) => [type, programKeys])).toEqual([
    ['sendmail', ['path']],
    ['php-mail', ['path']],
  ]);
});

/** A busy machine may take more than a second for a shell and what it starts. */
const TIMES = 3;

describe.each(drivers)('$type', (registration) => {
  const patient: typeof registration = {
    ...registration,
    connect: (settings, options) =>
      registration.connect(settings, { ...options, replyTimeoutMs: TIMES * options.replyTimeoutMs }),
  };
  const rules = sendingDriverConformance(patient, {
    startVendor: async () => makeSendmail(),
    wrongSettings: { path: 'sendmail', connections: 0 },
  });
  test.each(rules)('$name', ({ check }) => check());
  test('are all rules for a driver with a fixed number of processes', () => expect(rules).toHaveLength(17));
});
