/**
 * `npm run backup -- [file or folder]`: copies the whole installation into one file while it runs, and checks the file.
 * `npm run backup -- --verify <file>`: checks a file only.
 */
import { existsSync, statSync } from 'node:fs';
import path from 'node:path';
import { MIGRATIONS } from '../src/db/migration-state.ts';
import { readMigrations } from '../src/db/migrate.ts';
import { readableBytes } from '../src/lib/units.ts';
import { readHeader, verifyBackup } from './backup/backup-file.ts';
import { makeBackup } from './backup/make-backup.ts';
import { showProgress } from './backup/progress.ts';
import { runCancellable } from './support/run-cancellable.ts';
import { withInstallation } from './support/open-installation.ts';

const USAGE = `npm run backup -- [file or folder]    copies the whole installation into a new file, while it runs
npm run backup -- --verify <file>     checks whether a file is whole`;

const given = process.argv.slice(2);
const [first, second] = given;
if (first === '--help' || first === '-h') console.log(USAGE);
else if (first === '--verify' && second !== undefined && given.length === 2)
  await runCancellable((signal) => verify(second, signal));
else if (given.length > 1 || first?.startsWith('-')) {
  console.error(USAGE);
  process.exitCode = 1;
} else await runCancellable((signal) => backUp(path.resolve(first ?? '.'), signal));

async function verify(file: string, signal: AbortSignal): Promise<void> {
  const { header } = await readHeader(file);
  const rows = await verifyBackup(file, signal);
  console.log(`${file} is whole: ${rows} rows, made at ${header.madeAt} by version ${header.version}.`);
}

async function backUp(target: string, signal: AbortSignal): Promise<void> {
  const name = `mailwright-${new Date().toISOString().slice(0, 19).replaceAll(':', '')}Z.backup`;
  const file = existsSync(target) && statSync(target).isDirectory() ? path.join(target, name) : target;
  const migrations = await readMigrations(MIGRATIONS);
  await withInstallation(async (database) => {
    const client = await database.connect('mailwright-script');
    const progress = showProgress();
    const cancel = (): void => client.destroy('cancelled');
    signal.addEventListener('abort', cancel);
    try {
      const { rows, bytes } = await makeBackup({ client, migrations, file, progress, signal });
      progress.end();
      console.log(`${file}: ${rows} rows, ${readableBytes(bytes)}, written and checked.`);
      console.log(
        'The secret is not in it. Keep a copy of it in another place: the file "secret" in DATA_DIR, or APP_SECRET. ' +
          'Without it stored credentials and the links in sent mails are lost.',
      );
    } finally {
      signal.removeEventListener('abort', cancel);
      await client.end().catch(() => undefined);
    }
  });
}
