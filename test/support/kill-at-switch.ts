/**
 * Loaded before the program (`NODE_OPTIONS=--import`): kills it, and what has started it, as soon as it puts a new version in use. The file
 * KILL_AT says at which side of that instant: `before` or `after`. Whatever is written there is read once.
 */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

const { KILL_AT: file = '' } = process.env;
const rename = fs.renameSync;

fs.renameSync = (from, to) => {
  const isSwitch = String(to).endsWith('/releases/current');
  const side = isSwitch && fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : '';
  if (side !== '') fs.rmSync(file);
  if (side === 'before') end();
  rename(from, to);
  if (side === 'after') end();
};
syncBuiltinESMExports();

function end(): void {
  process.kill(process.ppid, 'SIGKILL');
  process.kill(process.pid, 'SIGKILL');
}
