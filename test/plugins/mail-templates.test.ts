/** The REGISTRY mail_template: templates of plugins are listed, and a campaign begins with a copy of one. */
import { afterEach, expect, test } from 'vitest';
import type { MailTemplate } from '../../src/plugin-api/index.ts';
import { field, mailWorld } from '../support/mail-world.ts';
import { startRestApp } from '../support/rest-app.ts';
import { withHooks } from '../support/with-hooks.ts';

const app = await startRestApp();
const owner = await app.newTenant();
const { call, newList } = mailWorld(app, owner);

const live: string[] = [];
afterEach(() => live.splice(0).forEach((name) => app.hooks.remove(name)));

const WELCOME: MailTemplate = {
  ...{ key: 'welcome', title: 'Welcome', language: 'en', subject: 'Welcome, {FIRST_NAME}' },
  html: '<p>{% if FIRST_NAME %}Hello {{ FIRST_NAME }}{% endif %}</p>',
};

function plugin(...templates: MailTemplate[]): void {
  live.push('acme/notes');
  withHooks(app.hooks, {
    name: 'acme/notes',
    boot: (hooks) => templates.forEach((template) => hooks.add('mail_template', template)),
  });
}

test('templates of active plugins are listed, and a campaign copies the texts of the one it names', async () => {
  plugin(WELCOME, { ...WELCOME, key: 'bye', plain: 'Bye.' });
  const listed = await call('GET', '/plugin_mail_templates');
  expect(listed.body).toEqual([
    {
      ...{ name: 'acme/notes:welcome', plugin: 'acme/notes', title: 'Welcome', language: 'en' },
      ...{ subject: WELCOME.subject, html: WELCOME.html, plain: '' },
    },
    expect.objectContaining({ name: 'acme/notes:bye', plain: 'Bye.' }),
  ]);
  const list = await newList();
  const base = { list_uid: list.uid, name: 'News', from_email: 'news@sender.example', from_name: 'News' };
  const made = await call('POST', '/campaigns', { ...base, plugin_template: 'acme/notes:welcome' });
  expect(made.status, made.text).toBe(201);
  const uid = String(field(made, 'campaign_uid'));
  const shown = async () => field(await call('GET', `/campaigns/${uid}`), 'campaign');
  expect(await shown()).toMatchObject({ subject: WELCOME.subject, html: WELCOME.html, plain: '' });
  const changed = await call('PATCH', `/campaigns/${uid}`, { subject: 'Mine', plugin_template: 'acme/notes:bye' });
  expect(changed.status, changed.text).toBe(200);
  expect(await shown()).toMatchObject({ subject: 'Mine', html: WELCOME.html, plain: 'Bye.' });

  // The copy stays without the plugin, and nobody can name the template any more.
  app.hooks.remove(live.pop() ?? '');
  expect(await shown()).toMatchObject({ subject: 'Mine', plain: 'Bye.' });
  const refused = await call('POST', '/campaigns', { ...base, plugin_template: 'acme/notes:welcome' });
  expect(refused.status).toBe(422);
  expect(refused.text).toContain('No active plugin has this mail template');
  expect((await call('GET', '/plugin_mail_templates')).body).toEqual([]);
});

test('a template that could not be sent is refused when the plugin becomes active', () => {
  const refusal = (...templates: object[]) => {
    try {
      plugin(...(templates as MailTemplate[]));
    } catch (error) {
      return String(error);
    } finally {
      app.hooks.remove(live.pop() ?? '');
    }
    return 'taken';
  };
  expect(refusal({ ...WELCOME, html: '<p>\n{% if x %}' })).toContain(
    'The mail template "welcome" of plugin "acme/notes" cannot be used. The template of the html has a fault. Line 2:',
  );
  expect(refusal({ ...WELCOME, html: 'x'.repeat(200_001) })).toContain('"html":');
  expect(refusal({ ...WELCOME, html: ' ' })).toContain('"html": must not be empty.');
  expect(refusal({ ...WELCOME, subject: 'a\nb' })).toContain('"subject":');
  expect(refusal({ ...WELCOME, key: 'A b' })).toContain('"key":');
  expect(refusal({ ...WELCOME, language: 'german!' })).toContain('"language":');
  expect(refusal({ ...WELCOME, from: 'x' })).toContain('Unrecognized key');
  expect(refusal(WELCOME, WELCOME)).toContain('the plugin has two mail templates welcome.');
  expect(refusal(WELCOME)).toBe('taken');
});
