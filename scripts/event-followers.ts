/**
 * The followers of the event record: `npm run event-followers` shows them, `-- again <name>` lets one that was cut off begin with
 * what happens from now on, `-- remove <name>` forgets one of a plugin that is gone.
 */
import type { Database } from '../src/db/database.ts';
import { followerStates } from '../src/events/follower-read-model.ts';
import { followAgain, removeFollower } from '../src/events/follower-store.ts';
import { messageOf } from '../src/lib/errors.ts';
import { withInstallation } from './support/open-installation.ts';

const [word, name = ''] = process.argv.slice(2);
await withInstallation(act).catch((error: unknown) => {
  console.error(messageOf(error));
  process.exitCode = 1;
});

async function act(database: Database): Promise<void> {
  if (word === undefined) return print(database);
  const verb = { again: followAgain, remove: removeFollower }[word];
  if (!verb)
    throw new Error('Use one of: again <name>, remove <name>. Without a word, the command shows the followers.');
  if (!(await verb(database, name))) throw new Error(`There is no follower "${name}".`);
  console.log(word === 'again' ? `"${name}" gets what happens from now on.` : `"${name}" is removed.`);
}

async function print(database: Database): Promise<void> {
  for (const { name: follower, owner, behindSeconds, failures, lastError, cutOffAt } of await followerStates(
    database,
  )) {
    const state = cutOffAt ? `cut off since ${cutOffAt.toISOString()}` : `${Math.round(behindSeconds)} s behind`;
    const fault = lastError === null ? '' : `  ${failures} failures: ${lastError}`;
    console.log(`${follower.padEnd(30)}  ${owner.padEnd(30)}  ${state}${fault}`);
  }
}
