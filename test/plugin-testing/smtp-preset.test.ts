/** A preset of SMTP: what was not given follows from the rest, also when one setting is changed later. */
import { expect, test } from 'vitest';
import { smtpPreset } from '../../src/plugin-api/index.ts';
import { smtpSettingsOf } from '../support/drivers-of-plugin.ts';

const preset = smtpPreset({
  ...{ type: 'x-smtp', name: 'X', description: 'X', ports: [587, 465] },
  hosts: { eu: 'smtp.eu.test', us: 'smtp.us.test' },
  headersOf: () => '',
});

const login = { username: 'a', password: 'b' };

test('another region is another host, another port another encryption', () => {
  const stored = preset.validate(login);
  expect(smtpSettingsOf(preset, login)).toMatchObject({
    host: 'smtp.eu.test',
    port: 587,
    encryption: 'starttls',
    ...login,
  });
  const changed = { ...(stored.ok ? stored.settings : {}), region: 'us', port: 465 };
  expect(smtpSettingsOf(preset, changed)).toMatchObject({ host: 'smtp.us.test', port: 465, encryption: 'tls' });
  expect(smtpSettingsOf(preset, { ...login, host: 'relay.test' })).toMatchObject({ host: 'relay.test' });
});
