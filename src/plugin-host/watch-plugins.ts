/**
 * Watches the code of plugins in this process: what nobody catches is given to the plugin that it came from, an end that a plugin causes is
 * noted before it happens, and a thread of its own notices code that does not give the event loop back (`watch-thread`).
 */
import { getHeapStatistics } from 'node:v8';
import { Worker } from 'node:worker_threads';
import { removeNote, writeNote } from '../lib/end-note.ts';
import type { Log, LogFormat, LogLevel } from '../lib/log.ts';
import { boundOutput } from './bound-output.ts';
import { FaultCounts } from './fault-counts.ts';
import { catchFaults } from './catch-faults.ts';
import { noteEnds } from './note-ends.ts';
import { MARKER_TICK } from './marker.ts';
import { marker, onNumber, runningPlugin } from './running-plugin.ts';
import { RUNNING_PLUGIN, TICK_MS, type WatchData } from './watch-thread-data.ts';

export interface WatchOptions {
  readonly log: Log;
  readonly level: LogLevel;
  readonly format: LogFormat;
  /** Where to write which plugin is about to end this process; undefined: nobody reads it. */
  readonly noteFile: string | undefined;
}

/** Begins; it ends with the process. Answers where faults that nobody has caught are counted. */
export function watchPlugins({ log, level, format, noteFile }: WatchOptions): FaultCounts {
  const faults = new FaultCounts();
  catchFaults(log, faults);
  boundOutput(log);
  noteEnds((note) => writeNote(noteFile, note));
  removeNote(noteFile);
  // The thread asks for it while the main thread stands still.
  Object.defineProperty(globalThis, Symbol.for(RUNNING_PLUGIN), { value: runningPlugin });
  const workerData: WatchData = {
    ...{ marker, noteFile, level, format },
    heapBytesMax: getHeapStatistics().heap_size_limit,
  };
  const thread = new Worker(new URL('watch-thread.ts', import.meta.url), { workerData, env: {}, execArgv: [] });
  thread.on('error', (error) => log.error('plugins.not_watched', { message: error.message }));
  thread.unref();
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread is no window
  onNumber((number, plugin) => thread.postMessage({ number, plugin }));
  setInterval(() => {
    marker[MARKER_TICK] = ((marker[MARKER_TICK] ?? 0) + 1) | 0;
  }, TICK_MS).unref();
  return faults;
}
