/** Settings of the SMTP driver under a former name. */
import { expect, it } from 'vitest';
import { validateSettings } from '../../plugins/mailwright/smtp/settings.ts';

it('understands the former name of the largest number, which counts for who gives it', () => {
  const known = { host: 'mail.test', encryption: 'none', max_connections: 5 };
  const checked = validateSettings({ ...known, connections: 8 });
  expect(checked.ok && checked.settings).toMatchObject({ max_connections: 8 });
  expect(checked.ok && checked.settings).not.toHaveProperty('connections');
  const cleared = validateSettings({ ...known, connections: null });
  expect(cleared.ok && cleared.settings).not.toHaveProperty('max_connections');
});
