/** The examples of docs/guides/plugin-apis.md work as they are printed. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { pluginClient } from '../support/plugin-client.ts';
import { newDataDir, writePlugin } from '../support/plugin-folder.ts';
import { startProgram } from '../support/program.ts';
import { createTestDatabase } from '../support/test-database.ts';

const GUIDE = readFileSync(path.resolve(import.meta.dirname, '../../docs/guides/plugin-apis.md'), 'utf8');

/** The first example of the section in this language. */
function exampleOf(section: string, language: string): string {
  const text = GUIDE.slice(GUIDE.indexOf(`\n## ${section}\n`));
  return new RegExp(`\`\`\`${language}\n(.*?)\n\`\`\``, 's').exec(text)?.[1] ?? '';
}

const { url } = await createTestDatabase();
const dataDir = newDataDir();
const program = await startProgram({ DATABASE_URL: url, DATA_DIR: dataDir, ROLES: 'web' });
const { activate, graphql, switchOn } = pluginClient(program);

test('GraphQL', async () => {
  writePlugin(dataDir, 'acme/notes', { code: exampleOf('GraphQL', 'ts') });
  expect(await activate('acme/notes')).toMatchObject({ status: 'ACTIVE', error: null });
  await switchOn('acme/notes');
  const question = exampleOf('GraphQL', 'graphql');
  expect(await graphql(question)).toEqual({ acmeNotes: { nodes: [{ text: 'Call Ada' }] } });
  const add = await graphql('mutation { it: acmeAddNote(input: { text: "Write" }) { ... on AcmeNote { uid } } }');
  expect(add).toEqual({ it: { uid: 'n2' } });
  expect(await graphql('{ it: acmeNote(uid: "n9") { ... on Error { code } } }')).toEqual({
    it: { code: 'ACME_NOTE_NOT_FOUND' },
  });
});

test('REST', async () => {
  writePlugin(dataDir, 'acme/notes', { code: exampleOf('REST', 'ts') });
  expect(await activate('acme/notes')).toMatchObject({ status: 'ACTIVE', error: null });
  const [, path = ''] = /127\.0\.0\.1:3000([^"]*)"/.exec(exampleOf('REST', 'sh')) ?? [];
  const headers = { Authorization: `Bearer ${program.token}` };
  const answer = await fetch(`${program.baseUrl}${path}`, { headers });
  expect(await answer.json()).toMatchObject({ data: [], meta: { total: 0 } });
});

test('Routes and files', async () => {
  const files = { 'resources/public/notes.css': 'body{}' };
  writePlugin(dataDir, 'acme/notes', { code: exampleOf('Routes and files', 'ts'), files });
  expect(await activate('acme/notes')).toMatchObject({ status: 'ACTIVE', error: null });
  const [, path = ''] = /127\.0\.0\.1:3000(\S*)/.exec(exampleOf('Routes and files', 'sh')) ?? [];
  expect(await (await fetch(`${program.baseUrl}${path}`)).json()).toEqual({ count: 0 });
  expect((await fetch(`${program.baseUrl}/plugins/acme/notes`)).status).toBe(401);
  expect(await (await fetch(`${program.baseUrl}/plugins/acme/notes/files/notes.css`)).text()).toBe('body{}');
});
