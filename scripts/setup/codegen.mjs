/** The types that graphql-codegen makes from the REST facade's operations. Types only: a start does not need them. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fingerprint, inProject, installedVersion, readJson, writeRecord } from './project.mjs';
import { runStep } from './step.mjs';

const CONFIG = 'codegen.yml';
const RECORD = inProject('src/generated/.codegen.json');

export function codegenIsDue() {
  if (!existsSync(inProject(CONFIG))) return false;
  return !outputs().every((file) => existsSync(inProject(file))) || readJson(RECORD)?.inputs !== inputs();
}

export async function runCodegen() {
  await runStep({
    title: 'Generating the types of the REST operations',
    program: 'graphql-codegen',
    args: ['--config', CONFIG],
    advice: () =>
      'An operation under src/rest-facade does not fit schema.graphql. If you changed src/schema, run: npm run schema:print. ' +
      'Else correct the operation named above. Then run: npm run setup.',
  });
  writeRecord(RECORD, { inputs: inputs() });
}

/** The configuration names its outputs; reading them this way needs no YAML parser. */
function outputs() {
  return readFileSync(inProject(CONFIG), 'utf8').match(/src\/generated\/[\w./-]+\.ts/g) ?? [];
}

function inputs() {
  const folder = 'src/rest-facade';
  const names = existsSync(inProject(folder)) ? readdirSync(inProject(folder), { recursive: true }) : [];
  const operations = names.filter((name) => name.endsWith('.graphql')).sort();
  const files = [
    CONFIG,
    'schema.graphql',
    ...operations.map((name) => path.posix.join(folder, name.replaceAll('\\', '/'))),
  ];
  return [fingerprint(files), `codegen@${installedVersion('@graphql-codegen/cli')}`].join(' ');
}
