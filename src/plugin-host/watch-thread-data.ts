/** What the thread that watches plugins gets. */
import type { LogFormat, LogLevel } from '../lib/log.ts';

export interface WatchData {
  readonly marker: Int32Array;
  readonly noteFile: string | undefined;
  readonly level: LogLevel;
  readonly format: LogFormat;
  readonly heapBytesMax: number;
}

/** How often the main thread shows that its event loop comes round, and the thread looks. */
export const TICK_MS = 50;

/** Name of a symbol: the global function that says whose code runs. */
export const RUNNING_PLUGIN = 'mailwright.running-plugin';
