/** Which signals of a plugin to its own process are noted as its end. */
import { constants } from 'node:os';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { EndNote } from '../../src/lib/end-note.ts';
import { noteEnds } from '../../src/plugin-host/note-ends.ts';
import { asPlugin } from '../../src/plugin-host/running-plugin.ts';

test('a signal that ends the process is noted, by its name or number; one that ends nothing, or goes elsewhere, is not', () => {
  const { abort, kill } = process;
  const before = process.listeners('exit');
  onTestFinished(() => {
    Object.assign(process, { abort, kill });
    for (const listener of process.listeners('exit')) if (!before.includes(listener)) process.off('exit', listener);
  });
  const sent = vi.fn<typeof process.kill>().mockReturnValue(true);
  process.kill = sent;
  const notes: EndNote[] = [];
  noteEnds((note) => void notes.push(note));
  const signals = [undefined, 'SIGTERM', 'SIGSEGV', 'SIGUSR2', 9, 'SIGWINCH', 'SIGUSR1', constants.signals.SIGCHLD, 0];
  for (const signal of signals) asPlugin('acme/one', () => process.kill(process.pid, signal));
  asPlugin('acme/one', () => process.kill(process.ppid, 'SIGTERM'));
  process.kill(process.pid, 'SIGTERM');
  expect(sent).toHaveBeenCalledTimes(signals.length + 2);
  expect(notes).toEqual(
    ['SIGTERM', 'SIGTERM', 'SIGSEGV', 'SIGUSR2', '9'].map((signal) => ({
      plugin: 'acme/one',
      how: `It sent the signal ${signal} to the process.`,
    })),
  );
});
