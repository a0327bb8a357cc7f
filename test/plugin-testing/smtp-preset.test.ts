/** A preset of SMTP: what was not given follows from the rest, also when one setting is changed later. */
import { expect, test } from 'vitest';
import { smtpPreset, type DriverOptions, type SettingsInput } from '../../src/plugin-api/index.ts';

const preset = smtpPreset({
  ...{ type: 'x-smtp', name: 'X', description: 'X', ports: [587, 465] },
  hosts: { eu: 'smtp.eu.test', us: 'smtp.us.test' },
  headersOf: () => '',
});

/** What the driver of SMTP gets. */
function smtpOf(settings: SettingsInput): SettingsInput {
  const checked = preset.validate(settings);
  if (!checked.ok) throw new Error(JSON.stringify(checked.errors));
  let got: SettingsInput = {};
  const options: DriverOptions = {
    ...{ connectionsMax: 1, clientName: 'client.test', replyTimeoutMs: 1_000 },
    connectSmtp(given) {
      got = given;
      return {
        capacity: 1,
        send: () => Promise.reject(new Error()),
        test: async () => ({ ok: true }),
        close: async () => {},
      };
    },
  };
  preset.connect(checked.settings, options);
  return got;
}

const login = { username: 'a', password: 'b' };

test('another region is another host, another port another encryption', () => {
  const stored = preset.validate(login);
  expect(smtpOf(login)).toMatchObject({ host: 'smtp.eu.test', port: 587, encryption: 'starttls', ...login });
  const changed = { ...(stored.ok ? stored.settings : {}), region: 'us', port: 465 };
  expect(smtpOf(changed)).toMatchObject({ host: 'smtp.us.test', port: 465, encryption: 'tls' });
  expect(smtpOf({ ...login, host: 'relay.test' })).toMatchObject({ host: 'relay.test' });
});
