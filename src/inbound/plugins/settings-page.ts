/** The settings of a plugin in a browser, made from the description of its form: the plugin's code takes no part. */
import { insertAuditEntries } from '../../domain/accounts/audit-store.ts';
import type { Context } from '../../domain/context.ts';
import { pluginSettings, updatePluginSettings, type ShownSettings } from '../../domain/plugins/plugin-settings.ts';
import { shownForm, type ShownField } from '../../domain/plugins/shown-form.ts';
import { ValidationError, type FieldErrors } from '../../lib/errors.ts';
import { html, Html } from '../../lib/html.ts';
import { programOf } from '../../lib/user-agent.ts';
import { sendBodyTooLarge } from '../notices.ts';
import { sendPage, setPublicHeaders } from '../page.ts';
import { readForm, type Form } from '../read-form.ts';
import type { Words } from '../words.ts';
import { sendPluginNotice } from './plugin-notices.ts';
import type { PageReader } from './page-reader.ts';

export const SETTINGS_PAGE = 'settings';
/** As many keys and credentials as a form may have. */
const FORM_BYTES_MAX = 131_072;

/** `/plugins/<vendor>/<name>/pages/settings`: GET shows the forms, POST takes one of them. */
export async function serveSettingsPage(reader: PageReader): Promise<void> {
  const { request, words } = reader;
  const { req, res, plugin, base } = request;
  const ctx = contextOf(reader);
  const forms = await pluginSettings(ctx, keyOf(plugin.name));
  if (forms.length === 0) {
    const isOff = ctx.hooks.owned('settings_form').some((entry) => entry.plugin === plugin.name);
    return sendPluginNotice(res, { notice: isOff ? 'off' : 'unknown', plugin: plugin.name, words });
  }
  if (req.method !== 'POST') return sendForms(reader, ctx, { forms, isSaved: (req.url ?? '').endsWith('?saved=1') });
  const form = await readForm(req, FORM_BYTES_MAX);
  if (!form) return sendBodyTooLarge(res, words);
  const shown = forms.find((one) => one.form.for === form.get('for'));
  if (!shown) return sendForms(reader, ctx, { forms, status: 422 });
  try {
    await updatePluginSettings(ctx, { ...keyOf(plugin.name), for: shown.form.for, values: givenValues(shown, form) });
  } catch (error) {
    if (!(error instanceof ValidationError)) throw error;
    const given = { owner: shown.form.for, form, errors: error.fields };
    return sendForms(reader, ctx, { forms, status: 422, given });
  }
  setPublicHeaders(res);
  const { baseUrl } = ctx.installation;
  res.writeHead(303, { Location: `${baseUrl}${base}/pages/${SETTINGS_PAGE}?saved=1` }).end();
}

/** A box that is not ticked is not sent; an empty secret keeps the stored one. */
function givenValues({ form: { settings } }: ShownSettings, form: Form): Record<string, unknown> {
  return Object.fromEntries(
    settings.flatMap(({ key, type }): [string, unknown][] => {
      const given = form.get(`value.${key}`);
      if (type === 'flag') return [[key, given !== undefined]];
      return given === undefined || (type === 'secret' && given === '') ? [] : [[key, given]];
    }),
  );
}

/** That of the visitor, with the row of the audit trail for a change. */
function contextOf({ request, session }: PageReader): Context {
  const { ctx, req, caller } = request;
  const { viewer } = session;
  const ipAddress = caller.ipAddress === '' ? null : caller.ipAddress;
  const asking = { ipAddress, client: programOf(req.headers['user-agent']), entryPoint: 'page' as const };
  const entry = { operation: 'updatePluginSettings', actor: viewer, fields: ['values'], ...asking };
  return {
    ...{ ...ctx, ...asking, log: caller.log, viewer },
    change: { write: (tx, about) => insertAuditEntries(tx, [{ ...entry, ...about }]) },
  };
}

interface Shown {
  readonly forms: readonly ShownSettings[];
  readonly status?: number;
  readonly isSaved?: boolean;
  /** What was sent and not accepted. */
  readonly given?: { readonly owner: string; readonly form: Form; readonly errors: FieldErrors };
}

async function sendForms(
  reader: PageReader,
  ctx: Context,
  { forms, status = 200, isSaved, given }: Shown,
): Promise<void> {
  const { request, words, files } = reader;
  const title = words.text('pluginSettings.title', { plugin: request.plugin.name });
  const parts: Html[] = isSaved ? [html`<p role="status">${words.text('pluginSettings.saved')}</p>`] : [];
  for (const shown of forms) {
    const fields = await shownForm(ctx, shown, words.language);
    parts.push(formOf({ shown, fields, words, given: given?.owner === shown.form.for ? given : undefined }));
  }
  sendPage(request.res, status, { words, title, body: html`${parts}`, files });
}

interface FormParts {
  readonly shown: ShownSettings;
  readonly fields: readonly ShownField[];
  readonly words: Words;
  readonly given: Shown['given'];
}

function formOf({ shown, fields, words, given }: FormParts): Html {
  const owner = shown.form.for;
  const items = fields.map((field) => fieldOf(field, { shown, words, given }));
  return html`<form method="post">
<h2>${words.text(`pluginSettings.${owner}`)}</h2>
<input type="hidden" name="for" value="${owner}">
${items}
<button type="submit">${words.text('pluginSettings.button')}</button>
</form>`;
}

function fieldOf(field: ShownField, { shown, words, given }: Omit<FormParts, 'fields'>): Html {
  const { key, label, help } = field;
  const id = `${shown.form.for}-${key}`;
  const isStored = shown.secretsSet.includes(key);
  const hints = [help, isStored ? words.text('pluginSettings.secretSet') : null].filter((hint) => hint !== null);
  const hint = hints.length === 0 ? '' : html`<p id="${id}-help">${hints.join(' ')}</p>`;
  const fault = given?.errors[`values.${key}`]?.[0];
  const error = fault === undefined ? '' : html`<p class="error" id="${id}-error" role="alert">${fault}</p>`;
  const described = [...(hint === '' ? [] : [`${id}-help`]), ...(fault === undefined ? [] : [`${id}-error`])];
  const about = described.length === 0 ? '' : html` aria-describedby="${described.join(' ')}"`;
  const invalid = fault === undefined ? '' : html` aria-invalid="true"`;
  const stored = shown.values[key];
  const value = given ? (given.form.get(`value.${key}`) ?? '') : String(stored ?? '');
  const names = html`id="${id}" name="value.${key}"${about}${invalid}`;
  if (field.type === 'flag') {
    const isOn = given ? given.form.has(`value.${key}`) : stored === true;
    const box = html`<input type="checkbox" ${names} value="1"${isOn ? new Html(' checked') : ''}>`;
    return html`<p class="box">${box}<label for="${id}">${label}</label></p>${hint}${error}`;
  }
  return html`<label for="${id}">${label}</label>
${inputOf(field, { names, value, isStored })}${hint}${error}`;
}

function inputOf(
  { type, choices, isRequired, min, max }: ShownField,
  { names, value, isStored }: { readonly names: Html; readonly value: string; readonly isStored: boolean },
): Html {
  const required = isRequired && !isStored ? new Html(' required') : '';
  switch (type) {
    case 'choice': {
      const options = choices.map((choice) => {
        const selected = choice.value === value ? new Html(' selected') : '';
        return html`<option value="${choice.value}"${selected}>${choice.label}</option>`;
      });
      return html`<select ${names}>${options}</select>`;
    }
    case 'number': {
      const limits = html`${min === null ? '' : html` min="${min}"`}${max === null ? '' : html` max="${max}"`}`;
      return html`<input type="number" step="any" ${names} value="${value}"${limits}${required}>`;
    }
    case 'secret':
      return html`<input type="password" autocomplete="off" ${names} value=""${required}>`;
    case 'text':
    case 'flag':
      return html`<input type="text" ${names} value="${value}"${required}>`;
  }
}

function keyOf(plugin: string): { readonly vendor: string; readonly name: string } {
  const [vendor = '', name = ''] = plugin.split('/');
  return { vendor, name };
}
