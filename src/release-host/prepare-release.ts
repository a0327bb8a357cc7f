/** Makes a version that was unpacked ready to run: its packages, its generated code, and a proof that its code can be loaded. */
import { spawn } from 'node:child_process';
import { copyFile, link, lstat, mkdir, readdir, readFile, readlink, symlink } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

/** `npm ci` on a slow network. */
const SETUP_MS_MAX = 900_000;
const LOAD_MS_MAX = 60_000;
const OUTPUT_CHARS_MAX = 2_000;
const END_WITH_STARTER = pathToFileURL(path.join(import.meta.dirname, 'end-with-starter.ts')).href;
/** What the parts of the program import when they start. */
const PARTS = ['src/main.ts', 'src/app/run-program.ts', 'src/app/start-web.ts', 'src/app/start-bounces.ts'];
/** No secret of the installation is among them. */
const ENVIRONMENT =
  /^(PATH|HOME|LANG|TMPDIR|(https?|no)_proxy|npm_(execpath|node_execpath|config_.*)|NODE_EXTRA_CA_CERTS)$/i;

/** `own`: the folder of the version that runs. Throws an Error with a sentence. */
export async function prepareRelease(folder: string, own: string, signal: AbortSignal): Promise<void> {
  if (await haveSamePackages(folder, own))
    await takeOver(path.join(own, 'node_modules'), path.join(folder, 'node_modules'));
  await run('Setting it up failed', [path.join(folder, 'scripts', 'setup.mjs')], {
    folder,
    signal,
    msMax: SETUP_MS_MAX,
  });
  const imports = PARTS.filter((part) => part !== 'src/main.ts').map(
    (part) => `await import(${JSON.stringify(pathToFileURL(path.join(folder, part)).href)});`,
  );
  const load = ['--input-type=module', '-e', `${imports.join('')}process.exit(0)`];
  await run('Its code cannot be loaded', load, { folder, signal, msMax: LOAD_MS_MAX });
}

async function haveSamePackages(folder: string, own: string): Promise<boolean> {
  const [theirs, ours] = await Promise.all(
    [folder, own].map((each) => readFile(path.join(each, 'package-lock.json'), 'utf8')),
  );
  return withoutVersion(theirs) === withoutVersion(ours);
}

/** The lock file also has the version of the program itself, twice at its beginning. */
function withoutVersion(lock = ''): string {
  return lock.replace(
    /^(\{\s*"name": "mailwright",\s*"version": ")[^"]*(".*?"packages": \{\s*"": \{\s*"name": "mailwright",\s*"version": ")[^"]*/s,
    '$1$2',
  );
}

/** The same files under another name, where the file system allows it. Node's caches are written anew. */
async function takeOver(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true });
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const [source, target] = [path.join(from, entry.name), path.join(to, entry.name)];
    if (entry.name === '.cache') continue;
    // Records at the top are written again; the files of packages never are.
    const isRecord = entry.isFile() && entry.name.startsWith('.');
    if (isRecord) {
      await copyFile(source, target);
      continue;
    }
    if (entry.isDirectory()) await takeOver(source, target);
    else if (entry.isSymbolicLink()) await symlink(await readlink(source), target);
    else if ((await lstat(source)).isFile()) await link(source, target).catch(() => copyFile(source, target));
  }
}

interface Run {
  readonly folder: string;
  readonly signal: AbortSignal;
  readonly msMax: number;
}

function run(what: string, args: readonly string[], { folder, signal, msMax }: Run): Promise<void> {
  return new Promise((resolve, reject) => {
    const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => ENVIRONMENT.test(name)));
    // A process group of its own: npm and what it starts end with it, and write no more. Also when this process is killed.
    const child = spawn(process.execPath, ['--import', END_WITH_STARTER, ...args], {
      ...{ cwd: folder, env, detached: true, stdio: ['pipe', 'pipe', 'pipe'] as const },
    });
    const end = () => child.pid !== undefined && endGroup(child.pid);
    const timer = setTimeout(end, msMax);
    signal.addEventListener('abort', end);
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => (output = (output + chunk.toString()).slice(-OUTPUT_CHARS_MAX)));
    child.on('error', reject);
    child.on('close', (code) => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      if (code === 0) resolve();
      else reject(new Error(`${what}. ${output.trim()}`));
    });
    if (signal.aborted) end();
  });
}

function endGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // It has ended.
  }
}
