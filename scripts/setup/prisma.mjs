/** The code that Prisma generates from prisma/schema.prisma into src/generated. */
import { existsSync } from 'node:fs';
import { fingerprint, inProject, installedVersion, readJson, writeRecord } from './project.mjs';
import { runStep } from './step.mjs';

const RECORD = inProject('src/generated/.prisma.json');
const OUTPUTS = ['src/generated/prisma/client.ts', 'src/generated/pothos.ts'];

export function prismaIsDue() {
  if (!existsSync(inProject('prisma/schema.prisma'))) return false;
  return !OUTPUTS.every((file) => existsSync(inProject(file))) || readJson(RECORD)?.inputs !== inputs();
}

export async function generatePrisma() {
  await runStep({
    title: 'Generating the database client',
    program: 'prisma',
    args: ['generate', '--schema', 'prisma/schema.prisma'],
    // Otherwise it would download an engine that is not needed, and check for updates.
    env: { PRISMA_SCHEMA_ENGINE_BINARY: '/bin/true', CHECKPOINT_DISABLE: '1', PRISMA_HIDE_UPDATE_MESSAGE: '1' },
    advice: () => 'Correct prisma/schema.prisma as said above, then run: npm run setup.',
  });
  writeRecord(RECORD, { inputs: inputs() });
}

function inputs() {
  const tools = ['prisma', '@pothos/plugin-prisma'].map((name) => `${name}@${installedVersion(name)}`);
  return [fingerprint(['prisma/schema.prisma']), ...tools].join(' ');
}
