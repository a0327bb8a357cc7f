/** Notes which plugin is about to end this process, before it does: afterwards nobody can tell. */
import { constants } from 'node:os';
import type { EndNote } from '../lib/end-note.ts';
import { runningPlugin } from './running-plugin.ts';

/** Signals that end no process unless somebody listens and does so. 0 only asks whether it is there. */
const HARMLESS = ['SIGCHLD', 'SIGCONT', 'SIGPIPE', 'SIGURG', 'SIGUSR1', 'SIGWINCH'] as const;
const ENDS_NOTHING = new Set<string | number>([0, ...HARMLESS, ...HARMLESS.map((name) => constants.signals[name])]);

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
    if ((pid === process.pid || pid === 0) && !ENDS_NOTHING.has(signal ?? 'SIGTERM'))
      note(`It sent the signal ${signal ?? 'SIGTERM'} to the process.`);
    return kill.call(process, pid, signal);
  };
}
