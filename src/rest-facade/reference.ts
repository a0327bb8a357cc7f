/**
 * The REST reference as one page, made from the OpenAPI document: every endpoint with its parameters, an example and its answers.
 * All of it is readable, linkable and searchable without script; a small script adds a form to try each request.
 */
import { html, type Html } from '../lib/html.ts';
import { htmlPage } from '../lib/html-page.ts';
import type { OpenApiDocument } from './openapi.ts';
import { nameIn, referenceDocument, type Answer, type ReferenceDocument } from './reference-document.ts';
import { endpoint, JSON_BODY, parameterLine, pretty } from './reference-endpoint.ts';
import { fieldsOf, marked, shapeInWords } from './reference-shapes.ts';
import type { View } from './row.ts';

/** Our own script, the document, and requests of the forms; nothing from elsewhere. */
export const REFERENCE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; img-src 'self'; connect-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

// Endpoints out of sight are laid out when they come into sight: the page has 160 of them.
const STYLE = `
<style>
html{scroll-padding-top:1rem}
section.endpoint{content-visibility:auto;contain-intrinsic-size:auto 12rem;border-top:1px solid #8886;padding:.2rem 0 .8rem}
h2{margin:2.5rem 0 .5rem}h3{margin:.6rem 0 .2rem;font-size:1.05rem}p{margin:.3rem 0}
.chapters{columns:11rem;padding:0;list-style:none}
summary{cursor:pointer;padding:.2rem 0}dl{margin:.2rem 0 .2rem 1rem}dd{margin:0 0 .3rem 1rem}
pre{white-space:pre-wrap;border:1px solid #8886;padding:.6rem;margin:.3rem 0;font:.85rem/1.45 ui-monospace,monospace}
label{display:block;margin:.5rem 0 .1rem}
input,select,textarea,button{font:inherit;max-width:100%;box-sizing:border-box;padding:.25rem .5rem}
input:not([type=file]),textarea{width:32rem}textarea{font:.85rem/1.45 ui-monospace,monospace}
button{margin:.6rem 0}
@media (scripting:none){.scripted{display:none}}
</style>`;

export interface ReferenceOptions {
  readonly document: OpenApiDocument;
  /** The prefix of all rows: `/api/v1`. */
  readonly prefix: string;
  readonly product: View['product'];
  /** The path of the script relative to the page: `docs/try-request.js`. */
  readonly script: string;
  /** That of the page about GraphQL; null: there is none. */
  readonly graphqlPath: string | null;
}

/** The page as HTML. Addresses are relative: the installation may be below a path. */
export function restReference({ document: given, prefix, product, script, graphqlPath }: ReferenceOptions): string {
  const document = referenceDocument.parse(given);
  const title = `${product.name} ${product.version}: REST reference`;
  const address = `${prefix.slice(1)}/openapi.json`;
  const inGraphql = graphqlPath === null ? 'in GraphQL' : html`<a href="${graphqlPath}">in GraphQL</a>`;
  const main = html`<h1>${title}</h1>
${introduction(document, product.baseUrl + prefix)}
<p>For programs: <a href="${address}">OpenAPI 3.1</a>. Everything here can also be done ${inGraphql}.</p>
<div class="scripted"><label for="token">API token for requests that you try on this page. The page forgets it when you leave.</label>
<input id="token" type="password" autocomplete="off" spellcheck="false"></div>
<h2 id="chapters">Chapters</h2>
<ul class="chapters">${document.tags.map(({ name }) => html`<li><a href="#${idOf(name)}">${name}</a></li>`)}
<li><a href="#shapes">Shapes of answers</a></li><li><a href="#refusals">Refusals</a></li></ul>
${document.tags.map(({ name }) => chapter(name, document, prefix))}
<h2 id="shapes">Shapes of answers</h2>
${shapesOf(document)}
<h2 id="refusals">Refusals</h2>
${Object.entries(document.components.responses).map(([name, refusal]) => refusalSection(name, refusal))}
<h2 id="headers">Headers of every call</h2>
<dl>${Object.values(document.components.parameters).map(parameterLine)}</dl>`;
  return htmlPage(title, main.text, `${STYLE}\n<script src="${script}" data-document="${address}" defer></script>`);
}

function introduction({ info }: ReferenceDocument, apiUrl: string): Html {
  return html`<p>Every address begins with <code>${apiUrl}</code>. Send the token as <code>Authorization: Bearer …</code>, or as the
parameter <code>api_token</code>. A refusal has a <code>message</code>; a 422 also has <code>errors</code>, from parameter to sentences.</p>
${info.description.split('\n\n').map((paragraph) => html`<p>${marked(paragraph)}</p>`)}`;
}

function idOf(chapterName: string): string {
  return `chapter.${chapterName.toLowerCase().replaceAll(' ', '-')}`;
}

function chapter(name: string, { paths, components }: ReferenceDocument, prefix: string): Html {
  const sections = Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations)
      .filter(([, { tags }]) => tags[0] === name)
      .map(([method, operation]) =>
        endpoint({ method: method.toUpperCase(), path: path === '/' ? prefix : prefix + path, operation }, components),
      ),
  );
  return html`<h2 id="${idOf(name)}">${name}</h2>
${sections}`;
}

/** The shared shapes that answers name; bodies stand at their endpoints. */
function shapesOf({ components, paths }: ReferenceDocument): Html[] {
  const bodies = new Set(
    Object.values(paths)
      .flatMap((operations) => Object.values(operations))
      .flatMap(({ requestBody }) => Object.values(requestBody?.content ?? {}))
      .map(({ schema }) => nameIn(schema?.$ref ?? '')),
  );
  return Object.entries(components.schemas)
    .filter(([name]) => !bodies.has(name))
    .map(
      ([name, schema]) =>
        html`<section class="endpoint" id="shape.${name}"><h3>${name}</h3>${schema.description === undefined ? '' : html`<p>${marked(schema.description)}</p>`}${fieldsOf(schema) ?? html`<p>${shapeInWords(schema)}</p>`}</section>`,
    );
}

function refusalSection(name: string, { description = '', content }: Answer): Html {
  const example = content?.[JSON_BODY]?.example;
  return html`<section id="refusal.${name}"><h3>${name}</h3><p>${marked(description)}</p>${example === undefined ? '' : html`<pre>${pretty(example)}</pre>`}</section>`;
}
