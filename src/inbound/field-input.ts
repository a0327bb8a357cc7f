/** A labelled control for one field of a list, with what is wrong about its value. */
import type { RecipientField } from '../domain/tracking/recipient-read-model.ts';
import { html, type Html } from '../lib/html.ts';

/** Readable by eye and by screen reader; the faults are tied to the control. */
export function fieldInput(
  { tag, label, type, required, value }: RecipientField,
  faults: readonly string[] = [],
): Html {
  const [id, faultId] = [`field-${tag}`, `fault-${tag}`];
  const state = faults.length > 0 ? html` aria-invalid="true" aria-describedby="${faultId}"` : undefined;
  const need = required ? html` required` : undefined;
  const hint = type === 'number' ? html` inputmode="decimal"` : undefined;
  const control = value.includes('\n')
    ? html`<textarea id="${id}" name="${tag}" rows="4"${need}${state}>${value}</textarea>`
    : html`<input id="${id}" name="${tag}" value="${value}"${hint}${need}${state}>`;
  return html`<label for="${id}">${label}</label>
${control}${faults.map((fault) => html`<p class="error" id="${faultId}">${fault}</p>`)}`;
}
