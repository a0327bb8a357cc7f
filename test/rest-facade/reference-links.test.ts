/** Every link of the REST reference leads to a page of the installation, also of one that hides its GraphQL schema. */
import { expect, test } from 'vitest';
import { startRestApp } from '../support/rest-app.ts';

const apps = {
  on: await startRestApp({ GRAPHQL_EXPLORER: 'on' }),
  off: await startRestApp({ GRAPHQL_EXPLORER: 'off' }),
};

test.each(['on', 'off'] as const)('with GRAPHQL_EXPLORER=%s', async (explorer) => {
  const { baseUrl } = apps[explorer];
  const page = await (await fetch(`${baseUrl}/docs`)).text();
  const links = [...page.matchAll(/ href="([^"#]+)"/g)].map(([, path = '']) => new URL(path, `${baseUrl}/docs`));
  const own = [...new Set(links.filter(({ origin }) => origin === new URL(baseUrl).origin).map(({ href }) => href))];
  expect(own.some((href) => href.endsWith('/docs/graphql'))).toBe(explorer === 'on');
  const answers = await Promise.all(own.map(async (href) => [href, (await fetch(href)).status]));
  expect(answers).toEqual(own.map((href) => [href, 200]));
});
