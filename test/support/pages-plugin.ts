/** A plugin with pages, for tests, and sessions of browsers. */
import type { PluginFiles } from './plugin-folder.ts';
import type { RestApp } from './rest-app.ts';

const HOSTILE = '<img src=x onerror=alert(1)>';

const CODE = `
  const notes = ['${HOSTILE}'];
  const faults = {
    throws: () => { throw new Error('a secret reason'); },
    rejects: async () => { throw new Error('a secret reason'); },
    late: () => new Promise(() => undefined),
    'no-object': () => 7,
    circle: () => { const data = {}; data.data = data; return data; },
    endless: () => ({}),
  };
  export const plugin = {
    name: 'acme/notes',
    register(hooks) {
      hooks.add('add_translation_file', { language: 'en', texts: { title: 'Notes of <b>Acme</b>', count: '{n, plural, one {# note} other {# notes}}' } });
      hooks.add('add_translation_file', { language: 'de', texts: { count: '{n, plural, one {# Notiz} other {# Notizen}}' } });
    },
    boot(hooks) {
      hooks.add('layout.body.before_close', { kind: 'script', href: '/plugins/acme/notes/files/app.js' });
      hooks.add('layout.body.before_close', { kind: 'script', href: '/plugins/acme/notes/files/admin.js', audience: 'admin' });
      hooks.add('layout.head.assets', { kind: 'stylesheet', href: '/plugins/acme/notes/files/look.css' });
      hooks.add('page', {
        name: 'notes', audience: 'customer', title: { key: 'title' }, view: 'notes.liquid',
        data: ({ customerUid, query }) => ({ customerUid, mark: query.mark, notes }),
        submit({ form }) {
          if (!form.text) return { data: { notes, fault: 'A text is needed <b>' } };
          notes.push(form.text);
          return { next: 'notes?saved=1' };
        },
      });
      hooks.add('page', { name: 'admin', audience: 'admin', title: 'Admin', view: 'admin.liquid', data: ({ isAdmin }) => ({ isAdmin }) });
      for (const [name, data] of Object.entries(faults))
        hooks.add('page', { name: 'faults/' + name, audience: 'customer', title: name, view: name === 'endless' ? 'endless.liquid' : 'admin.liquid', data });
      hooks.add('settings_form', { for: 'installation', settings: [{ key: 'url', type: 'text', label: 'Address' }] });
      hooks.add('settings_form', { for: 'customer', settings: [
        { key: 'name', type: 'text', label: 'Name <script>', max: 40, required: true, help: 'Help <i>' },
        { key: 'token', type: 'secret', label: 'Token' },
        { key: 'is_on', type: 'flag', label: 'On' },
        { key: 'size', type: 'choice', label: 'Size', default: 's', choices: [{ value: 's', label: 'Small' }, { value: 'l', label: 'Large' }] },
        { key: 'tries', type: 'number', label: 'Tries', min: 1, max: 9, default: 3 },
      ] });
    },
  };`;

export const pagesPlugin: PluginFiles = {
  code: CODE,
  files: {
    'resources/views/notes.liquid': `<p>customer {{ customerUid }} {{ mark }}</p>
<p>{{ 'count' | t: n: 2 }}</p>
{% if fault %}<p class="error">{{ fault }}</p>{% endif %}
<ul>{% for note in notes %}<li>{{ note }}</li>{% endfor %}</ul>
<p><a href="{{ mark | default: 'settings' }}">Link</a></p>
<form method="post"><label for="text">Text</label><input id="text" name="text"><button type="submit">Add</button></form>`,
    'resources/views/admin.liquid': '<p>administrator: {{ isAdmin }}</p>',
    'resources/views/endless.liquid':
      '{% for i in (1..1000) %}{% for j in (1..1000) %}{% for k in (1..1000) %}{{ k }}{% endfor %}{% endfor %}{% endfor %}',
    'resources/public/app.js': 'document.documentElement.dataset.app = "ran";',
    'resources/public/admin.js': 'document.documentElement.dataset.admin = "ran";',
    'resources/public/look.css': 'li { letter-spacing: 3px; }',
  },
};

/** The cookie of a browser that follows a login link of this token's user. */
export async function sessionCookieOf(app: RestApp, token: string): Promise<string> {
  const { body } = await app.rest('/login-token', { method: 'POST', token });
  const url: unknown = typeof body === 'object' && body !== null && 'url' in body ? body.url : undefined;
  const response = await fetch(String(url), {
    redirect: 'manual',
    headers: { 'User-Agent': 'Mozilla/5.0 Firefox/140' },
  });
  return response.headers.getSetCookie()[0]?.split(';')[0] ?? '';
}
