/** A labelled control for one field of a list, with what is wrong about its value. */
import { choicesIn, MANY_CHOICE_TYPES, optionKey } from '../domain/audience/field-value.ts';
import type { RecipientField } from '../domain/tracking/recipient-read-model.ts';
import { html, type Html } from '../lib/html.ts';

/** Browsers send a value for each choice, and none when there is none: the form has an empty one before them. */
export function tagsOfMany(fields: readonly Pick<RecipientField, 'tag' | 'type'>[]): ReadonlySet<string> {
  const many: readonly string[] = MANY_CHOICE_TYPES;
  return new Set(fields.filter(({ type }) => many.includes(type)).map(({ tag }) => tag));
}

/** Readable by eye and by screen reader; the faults are tied to the control. */
export function fieldInput(field: RecipientField, faults: readonly string[] = []): Html {
  const { tag, label, type, required } = field;
  const [id, faultId] = [`field-${tag}`, `fault-${tag}`];
  const state = faults.length > 0 ? html` aria-invalid="true" aria-describedby="${faultId}"` : undefined;
  const need = required ? html` required` : undefined;
  const shownFaults = faults.map((fault) => html`<p class="error" id="${faultId}">${fault}</p>`);
  if (type === 'radio' || type === 'checkbox') {
    return html`<fieldset id="${id}"${state}><legend><bdi>${label}</bdi></legend>
${type === 'radio' ? radios(field, need) : checkboxes(field)}
</fieldset>${shownFaults}`;
  }
  return html`<label for="${id}"><bdi>${label}</bdi></label>
${control(field, html`id="${id}" name="${tag}"${need}${state}`)}${shownFaults}`;
}

function control({ tag, type, value, required, options }: RecipientField, attributes: Html): Html {
  switch (type) {
    case 'dropdown':
      return html`<select ${attributes}>${required && value !== '' ? undefined : html`<option value=""></option>`}${choices(options, value)}</select>`;
    case 'multiselect':
      return html`${noChoice(tag)}<select multiple ${attributes}>${choices(options, value)}</select>`;
    case 'date':
      return html`<input type="date" ${attributes} value="${value}">`;
    case 'number':
      return html`<input ${attributes} value="${value}" inputmode="decimal">`;
    default:
      return type === 'textarea' || value.includes('\n')
        ? html`<textarea ${attributes} rows="4" dir="auto">${value}</textarea>`
        : html`<input ${attributes} value="${value}" dir="auto">`;
  }
}

function choices(options: readonly string[], value: string): Html[] {
  return options.map(
    (option) => html`<option${isChosen(option, value) ? html` selected` : undefined}>${option}</option>`,
  );
}

function radios({ tag, options, value, required }: RecipientField, need: Html | undefined): Html[] {
  const none = required ? [] : [html`<label><input type="radio" name="${tag}" value=""> –</label>`];
  const offered = options.map(
    (option) =>
      html`<label><input type="radio" name="${tag}" value="${option}"${optionKey(option) === optionKey(value) ? html` checked` : undefined}${need}> ${option}</label>`,
  );
  return [...offered, ...none];
}

function checkboxes({ tag, options, value }: RecipientField): Html[] {
  const offered = options.map(
    (option) =>
      html`<label><input type="checkbox" name="${tag}" value="${option}"${isChosen(option, value) ? html` checked` : undefined}> ${option}</label>`,
  );
  return [noChoice(tag), ...offered];
}

function noChoice(tag: string): Html {
  return html`<input type="hidden" name="${tag}" value="">`;
}

/** Also when the value is one option that contains commas. */
function isChosen(option: string, value: string): boolean {
  const key = optionKey(option);
  return optionKey(value) === key || choicesIn(value).some((choice) => optionKey(choice) === key);
}
