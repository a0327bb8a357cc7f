/** Notes which plugin is about to end this process, before it does: afterwards nobody can tell. */
import type { EndNote } from '../lib/end-note.ts';
import { runningPlugin } from './running-plugin.ts';

/** Signals that are sent to end a process. What others do depends on who listens; most do nothing. */
const ENDING = new Set<string | number>([
  'SIGTERM',
  'SIGINT',
  'SIGQUIT',
  'SIGHUP',
  'SIGABRT',
  'SIGKILL',
  15,
  2,
  3,
  1,
  6,
  9,
]);

/** From now on code of a plugin that ends the process by itself is noted. */
export function noteEnds(write: (note: EndNote) => void): void {
  const note = (how: string): void => {
    const plugin = runningPlugin();
    if (plugin !== undefined) write({ plugin, how });
  };
  process.on('exit', (code) => note(`It ended the process with code ${code}.`));
  const { abort, kill } = process;
  process.abort = () => {
    note('It aborted the process.');
    return abort.call(process);
  };
  process.kill = (pid, signal) => {
    if ((pid === process.pid || pid === 0) && ENDING.has(signal ?? 'SIGTERM'))
      note(`It sent the signal ${signal ?? 'SIGTERM'} to the process.`);
    return kill.call(process, pid, signal);
  };
}
