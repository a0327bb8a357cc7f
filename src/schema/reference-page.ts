/**
 * The GraphQL reference as one page without scripts, made from the schema: every operation with its arguments, its result and the
 * right it needs, and every type, with links from each mention.
 */
import {
  getNamedType,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isObjectType,
  isScalarType,
  isUnionType,
  type GraphQLArgument,
  type GraphQLField,
  type GraphQLInputField,
  type GraphQLNamedType,
  type GraphQLSchema,
  type GraphQLType,
} from 'graphql';
import { html, type Html } from '../lib/html.ts';
import { htmlPage } from '../lib/html-page.ts';

type Named = GraphQLArgument | GraphQLInputField;

const STYLE = `<style>
h3{margin:1.6rem 0 .2rem;font-size:1.05rem}
dl{margin:.2rem 0 0 1rem}dd{margin:0 0 .3rem 1rem}p{margin:.2rem 0}
nav{columns:14rem;font-size:.9rem}nav a{display:block;line-height:1.7rem}
p a,dt a,dd a{display:inline-block;line-height:1.6rem}
section{content-visibility:auto;contain-intrinsic-size:auto 8rem}
</style>`;

/** The page as HTML. */
export function graphqlReference(schema: GraphQLSchema, product: string): string {
  const operations = [
    { title: 'Queries', fields: schema.getQueryType()?.getFields() },
    { title: 'Mutations', fields: schema.getMutationType()?.getFields() },
    { title: 'Subscriptions', fields: schema.getSubscriptionType()?.getFields() },
  ].map(({ title, fields }) => ({ title, fields: Object.values(fields ?? {}) }));
  const roots = new Set([schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()]);
  const types = Object.values(schema.getTypeMap()).filter(
    (type) => !type.name.startsWith('__') && ![...roots].some((root) => root === type),
  );
  const title = `${product}: GraphQL reference`;
  const main = html`<h1>${title}</h1>
    <p>Operations go to <code>/graphql</code> over HTTP, server-sent events and websockets. The expected refusals of an
    operation are members of its result; every one has a <code>code</code> that stays and a <code>message</code>.</p>
    ${operations.map(
      (group) =>
        html`<h2>${group.title}</h2><nav aria-label="${group.title}">${group.fields.map(({ name }) => anchorTo(group.title, name))}</nav>`,
    )}
    <h2>Types</h2><nav aria-label="Types">${types.toSorted(byName).map(({ name }) => html`<a href="#${name}">${name}</a>`)}</nav>
    ${operations.map(
      (group) => html`<h2>${group.title}</h2>${group.fields.map((field) => operation(group.title, field))}`,
    )}
    <h2>Types</h2>
    ${types.toSorted(byName).map(typeSection)}`;
  return htmlPage(title, main.text, STYLE);
}

function byName(a: GraphQLNamedType, b: GraphQLNamedType): number {
  return a.name < b.name ? -1 : 1;
}

function anchorTo(group: string, name: string): Html {
  return html`<a href="#${group}.${name}">${name}</a>`;
}

function operation(group: string, field: GraphQLField<unknown, unknown>): Html {
  return html`<section id="${group}.${field.name}"><h3><code>${field.name}</code>: ${link(field.type)}</h3>
    <p>${field.description ?? ''}</p>
    ${inputs(field.args)}</section>`;
}

function inputs(all: readonly Named[]): Html | undefined {
  if (all.length === 0) return undefined;
  const lines = all.map(
    (input) =>
      html`<dt><code>${input.name}</code>: ${link(input.type)}${defaultOf(input)}</dt><dd>${input.description ?? ''}</dd>`,
  );
  return html`<dl>${lines}</dl>`;
}

function defaultOf({ defaultValue }: Named): string {
  return defaultValue === undefined ? '' : ` = ${JSON.stringify(defaultValue)}`;
}

function typeSection(type: GraphQLNamedType): Html {
  return html`<section id="${type.name}"><h3>${kindOf(type)} <code>${type.name}</code></h3>
    <p>${type.description ?? ''}</p>${insideOf(type)}</section>`;
}

function kindOf(type: GraphQLNamedType): string {
  if (isInputObjectType(type)) return type.isOneOf ? 'input (one of)' : 'input';
  if (isEnumType(type)) return 'enum';
  if (isUnionType(type)) return 'union';
  if (isScalarType(type)) return 'scalar';
  return isInterfaceType(type) ? 'interface' : 'type';
}

function insideOf(type: GraphQLNamedType): Html | undefined {
  if (isInputObjectType(type)) return inputs(Object.values(type.getFields()));
  if (isUnionType(type)) return html`<p>${type.getTypes().map((member) => html`${link(member)} `)}</p>`;
  if (isEnumType(type)) {
    const values = type
      .getValues()
      .map(({ name, description }) => html`<dt><code>${name}</code></dt><dd>${description ?? ''}</dd>`);
    return html`<dl>${values}</dl>`;
  }
  if (!isObjectType(type) && !isInterfaceType(type)) return undefined;
  const fields = Object.values(type.getFields()).map(
    (field) =>
      html`<dt><code>${field.name}</code>: ${link(field.type)}</dt><dd>${field.description ?? ''}${inputs(field.args)}</dd>`,
  );
  return html`<dl>${fields}</dl>`;
}

function link(type: GraphQLType): Html {
  const { name } = getNamedType(type);
  const [before = '', after = ''] = String(type).split(name);
  return html`<code>${before}<a href="#${name}">${name}</a>${after}</code>`;
}
