/** An endpoint on the reference page. */
import { html, type Html } from '../lib/html.ts';
import { nameIn, type Answer, type Operation, type Parameter, type ReferenceDocument } from './reference-document.ts';
import { fieldLine, fieldsOf, marked, shapeInWords } from './reference-shapes.ts';

export const JSON_BODY = 'application/json';
const FORM_WITH_FILE = 'multipart/form-data';
const ACCESS = {
  public: 'Needs no token.',
  token: 'Needs a token.',
  admin: 'Needs the token of an administrator.',
} as const;

type Components = ReferenceDocument['components'];

export interface Endpoint {
  readonly method: string;
  readonly path: string;
  readonly operation: Operation;
}

/** An endpoint as a section: what it does and takes, an example, its answers, and a place for the form to try it. */
export function endpoint({ method, path, operation }: Endpoint, components: Components): Html {
  const { operationId, summary, description } = operation;
  return html`<section class="endpoint" id="${operationId}"><h3>${method} <code>${path}</code></h3>
<p>${marked(summary)} ${description === undefined ? '' : marked(description)} ${ACCESS[operation['x-access']]}
<a href="#${operationId}" aria-label="Link to ${method} ${path}">#</a></p>
${parametersOf(operation, components)}
${exampleOf({ method, path, operation })}
<details><summary>Answers</summary><dl>${Object.entries(operation.responses).map(([status, answer]) => answerLine(status, answer))}</dl></details>
<details class="scripted" data-try="${operationId}"><summary>Try it</summary></details>
</section>
`;
}

/** What the call takes in path, query or body; headers that all calls take stand at the end of the page. */
function parametersOf({ parameters, requestBody }: Operation, { schemas }: Components): Html | undefined {
  const body = requestBody?.content[FORM_WITH_FILE] ?? requestBody?.content[JSON_BODY];
  const schema = body?.schema?.$ref === undefined ? body?.schema : schemas[nameIn(body.schema.$ref)];
  const own = parameters.filter(({ $ref }) => $ref === undefined).map(parameterLine);
  const { properties = {}, required = [] } = schema ?? {};
  const fields = Object.entries(properties).map(([name, field]) => fieldLine({ name, field }, required.includes(name)));
  if (own.length + fields.length === 0) return undefined;
  return html`<details><summary>Parameters (${own.length + fields.length})</summary><dl>${[...own, ...fields]}</dl></details>`;
}

/** A line for a parameter of the path or query, or a header. */
export function parameterLine({ name = '', required = false, description, schema = {} }: Parameter): Html {
  return fieldLine({ name, field: schema }, required, description);
}

function exampleOf({ method, path, operation }: Endpoint): Html | undefined {
  const { parameters, requestBody, responses } = operation;
  const sent = requestBody?.content[JSON_BODY]?.example;
  const query = parameters.filter((one) => one.in === 'query' && one.example !== undefined);
  const search = query.map(({ name = '', example }) => `${name}=${encodeURIComponent(textOf(example))}`).join('&');
  const answers = Object.entries(responses).flatMap(([status, { content }]) => {
    const example = content?.[JSON_BODY]?.example;
    return example === undefined ? [] : [html`<p>Answer ${status}:</p><pre>${pretty(example)}</pre>`];
  });
  if (sent === undefined && answers.length === 0) return undefined;
  const body = sent === undefined ? '' : `\n\n${pretty(sent)}`;
  return html`<details><summary>Example</summary><pre>${method} ${path}${search === '' ? '' : `?${search}`}${body}</pre>${answers.slice(0, 1)}</details>`;
}

function answerLine(status: string, { $ref, description = '', content }: Answer): Html {
  if ($ref !== undefined)
    return html`<dt>${status}</dt><dd><a href="#refusal.${nameIn($ref)}">${nameIn($ref)}</a></dd>`;
  const shapes = Object.entries(content ?? {}).map(([type, { schema }]) =>
    schema === undefined || type !== JSON_BODY
      ? html`<p>${type}</p>`
      : html`<p>${shapeInWords(schema)}</p>${fieldsOf(schema)}`,
  );
  return html`<dt>${status}</dt><dd>${marked(description)}${shapes}</dd>`;
}

/** JSON for readers. */
export function pretty(value: unknown): string {
  return JSON.stringify(value, undefined, 2);
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
