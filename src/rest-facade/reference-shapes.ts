/** Schemas of the OpenAPI document as html for readers: in words, with a link from each mention of a shared shape. */
import { html, Html, type HtmlValue } from '../lib/html.ts';
import { nameIn, type SchemaPart } from './reference-document.ts';

const WORDS: Readonly<Record<string, string>> = {
  string: 'text',
  integer: 'whole number',
  number: 'number',
  boolean: 'true or false',
  object: 'object',
  array: 'list',
  null: 'null',
};

/** Text with the backticks of our descriptions as `<code>`. */
export function marked(text: string): Html {
  return html`${text
    .split('`')
    .map((part, at) => (at % 2 === 0 ? html`${part}` : html`<code>${part}</code>`))
    .reduce(join, html``)}`;
}

/** What a value is, in a line. Objects that have no name are only called so; `fieldsOf` has their fields. */
export function shapeInWords(schema: SchemaPart): Html {
  if (schema.$ref !== undefined) return html`<a href="#shape.${nameIn(schema.$ref)}">${nameIn(schema.$ref)}</a>`;
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices) return listed(choices.map(shapeInWords), ' or ');
  if (schema.const !== undefined) return html`<code>${JSON.stringify(schema.const)}</code>`;
  if (schema.enum)
    return listed(
      schema.enum.map((value) => html`<code>${String(value)}</code>`),
      ' | ',
    );
  if (schema.items) return html`list of ${shapeInWords(schema.items)}`;
  const types = [schema.type ?? 'any'].flat();
  return html`${types.map((type) => WORDS[type] ?? type).join(' or ')}`;
}

/** The fields of an object, also inside lists and alternatives; nothing for a shape that stands elsewhere. */
export function fieldsOf(schema: SchemaPart): Html | undefined {
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices) {
    const inside = choices.flatMap((choice) => {
      const fields =
        fieldsOf(choice) ?? (choice.title === undefined ? undefined : html`<p>${shapeInWords(choice)}</p>`);
      if (!fields) return [];
      return choice.title === undefined ? [fields] : [html`<p><b>${choice.title}</b></p>${fields}`];
    });
    return inside.length === 0 ? undefined : html`${inside}`;
  }
  if (schema.items) return fieldsOf(schema.items);
  if (!schema.properties) return undefined;
  const required = new Set(schema.required);
  const lines = Object.entries(schema.properties).map(([name, field]) =>
    fieldLine({ name, field }, required.has(name)),
  );
  return html`<dl>${lines}</dl>`;
}

/** A line of a list of fields or parameters. */
export function fieldLine(
  { name, field }: { name: string; field: SchemaPart },
  isRequired: boolean,
  about?: string,
): Html {
  const description = about ?? field.description;
  const inside: HtmlValue[] = [description === undefined ? undefined : marked(description), fieldsOf(field)];
  const more = inside.some((part) => part !== undefined) ? html`<dd>${inside[0]}${inside[1]}</dd>` : html`<dd></dd>`;
  return html`<dt><code>${name}</code> ${shapeInWords(field)}${isRequired ? html`, <b>required</b>` : ''}</dt>${more}`;
}

function listed(parts: readonly Html[], between: string): Html {
  return parts.reduce((all, part) => html`${all}${between}${part}`);
}

function join(all: Html, part: Html): Html {
  return new Html(all.text + part.text);
}
