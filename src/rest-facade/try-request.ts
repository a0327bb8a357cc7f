/**
 * The script of the REST reference: makes a form in an endpoint's "Try it" when it is opened first, sends the request with the token
 * of the page, and shows the answer. It reads what a request takes from the OpenAPI document. The token is not stored.
 */
export const TRY_REQUEST = `'use strict';
const { document: documentAddress } = document.currentScript.dataset;
/** Longer answers are cut: they are for programs. */
const SHOWN_LENGTH_MAX = 100000;
let reading;

const read = () => (reading ??= fetch(documentAddress).then((answer) => answer.json()));

const make = (tag, properties = {}, ...children) => {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
};

const find = (api, id) => {
  for (const [path, operations] of Object.entries(api.paths))
    for (const [method, operation] of Object.entries(operations))
      if (operation.operationId === id) return { path, method: method.toUpperCase(), operation };
};

const asText = (value) => (value === undefined ? '' : typeof value === 'object' ? JSON.stringify(value) : String(value));

/** A label and its field, which has the name of a parameter. */
const field = (id, name, label, input) => {
  input.id = id + '.' + name;
  input.name = name;
  return make('div', {}, make('label', { htmlFor: input.id, textContent: label }), input);
};

const fieldsFor = (id, { parameters, requestBody }) => {
  const own = parameters.filter(({ $ref }) => $ref === undefined);
  const fields = own.map(({ name, in: place, required, example }) =>
    field(id, place + ':' + name, name + (required ? ' (required)' : ''),
      make('input', { required: place === 'path', placeholder: asText(example), spellcheck: false })));
  fields.push(field(id, 'dialect', 'Dialect', make('select', {},
    ...[['', 'as set for the token'], ['standard', 'standard'], ['classic', 'classic']].map(([value, textContent]) =>
      make('option', { value, textContent })))));
  if (!requestBody) return fields;
  const { 'application/json': json, 'multipart/form-data': form } = requestBody.content;
  const files = Object.entries(form?.schema.properties ?? {}).filter(([, shape]) => JSON.stringify(shape).includes('octet-stream'));
  for (const [name] of files) fields.push(field(id, 'file:' + name, name + ' (file)', make('input', { type: 'file', multiple: name === 'files' })));
  const text = json?.example === undefined ? '{}' : JSON.stringify(json.example, undefined, 2);
  fields.push(field(id, 'body', 'Body (JSON)',
    make('textarea', { value: text, rows: Math.min(16, text.split('\\n').length + 1), spellcheck: false })));
  return fields;
};

/** The parts of a JSON body as fields of a form, for a request with files. */
const appendTo = (form, value, name) => {
  if (typeof value !== 'object' || value === null) return form.append(name, value ?? '');
  for (const [key, inner] of Object.entries(value)) appendTo(form, inner, name === '' ? key : name + '[' + key + ']');
};

const requestOf = (form, base, { path, method }) => {
  const headers = {};
  const token = document.getElementById('token').value.trim();
  if (token !== '') headers.authorization = 'Bearer ' + token;
  const query = new URLSearchParams();
  const uploads = [];
  let body;
  for (const input of form.elements) {
    const [place, name] = [input.name.split(':', 1)[0], input.name.slice(input.name.indexOf(':') + 1)];
    if (place === 'path') path = path.replace('{' + name + '}', encodeURIComponent(input.value));
    if (place === 'query' && input.value !== '') query.append(name, input.value);
    if (place === 'dialect' && input.value !== '') headers['x-api-dialect'] = input.value;
    if (place === 'file') for (const file of input.files) uploads.push([name, file]);
    if (place === 'body') body = input.value.trim();
  }
  if (uploads.length > 0) {
    const parts = new FormData();
    appendTo(parts, JSON.parse(body || '{}'), '');
    for (const [name, file] of uploads) parts.append(name === 'files' ? 'files[]' : name, file);
    body = parts;
  } else if (body !== undefined) headers['content-type'] = 'application/json';
  const search = query.size > 0 ? '?' + query : '';
  return [base + (path === '/' ? '' : path) + search, { method, headers, body, credentials: 'omit' }];
};

const show = async (answer) => {
  const text = await answer.text();
  let shown = text;
  try {
    shown = JSON.stringify(JSON.parse(text), undefined, 2);
  } catch {
    // Not JSON: shown as it is.
  }
  const cut = shown.length > SHOWN_LENGTH_MAX ? shown.slice(0, SHOWN_LENGTH_MAX) + '\\n…' : shown;
  return answer.status + ' ' + answer.statusText + '\\n' + cut;
};

const open = async (details) => {
  const id = details.dataset.try;
  const api = await read();
  const found = find(api, id);
  const output = make('pre', { hidden: true });
  output.setAttribute('role', 'status');
  const form = make('form', {}, ...fieldsFor(id, found.operation), make('button', { textContent: 'Send' }), output);
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    output.hidden = false;
    output.textContent = 'Sending …';
    try {
      output.textContent = await show(await fetch(...requestOf(form, api.servers[0].url, found)));
    } catch (error) {
      output.textContent = 'Not sent: ' + error.message;
    }
  });
  details.append(form);
};

addEventListener('toggle', ({ target }) => {
  if (!target.open || target.dataset.try === undefined || target.childElementCount > 1 || target.dataset.busy) return;
  target.dataset.busy = 'yes';
  open(target).catch((error) => {
    delete target.dataset.busy;
    target.append(make('p', { textContent: 'The form could not be made: ' + error.message }));
  });
}, true);
`;
