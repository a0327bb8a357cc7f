/**
 * A thread beside the main thread. It sees who has the event loop: by the marker that calls of plugins set, else by asking where the main
 * thread is. One plugin that holds it is noted after 50 ms, named in the log after two seconds, and after five the process is ended.
 */
import { readFileSync, writeSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { removeNote, writeNote } from '../lib/end-note.ts';
import { createLog } from '../lib/log.ts';
import { mainThreadPlace, type MainThreadPlace } from './main-thread-place.ts';
import { MARKER_CALLS, MARKER_PLUGIN, MARKER_TICK } from './marker.ts';
import { TICK_MS, type WatchData } from './watch-thread-data.ts';

const NOTED_MS = 50;
const NAMED_MS = 2_000;
const ENDED_MS = 5_000;
/** Asking takes a moment. Who gives no answer, or was Mailwright itself, is asked again after as long. */
const ASKED_MS = 1_800;
/** Out of memory comes soon after this share: then it is asked earlier, because nobody can be asked afterwards. */
const MEMORY_SHARE = 0.7;
const ASKED_WHEN_FULL_MS = 150;
/** A longer pause was none of the main thread's: the machine slept, or is overloaded. */
const GAP_MS_MAX = 200;

const { marker, noteFile, level, format, heapBytesMax }: WatchData = workerData;
const STANDARD_ERROR = 2;
const log = createLog({ level, format, write: (line) => void writeSync(STANDARD_ERROR, `${line}\n`) });
const plugins = new Map<number, string>();

/** Of the main thread of a process: nanoseconds on a processor, nanoseconds that it waited for one, and turns. Linux only. */
const SCHEDULED_FILE = '/proc/self/schedstat';
const NANOSECONDS_PER_MS = 1_000_000;

let seen = { at: performance.now(), waitedMs: waitedMs(), tick: 0, calls: 0, plugin: 0 };
/** How long the event loop has stood still, and how long one call of a plugin has lasted, without the time in which no processor was free. */
let [stoodMs, heldMs] = [0, 0];
/** How long the event loop has stood still by the clock, and for how long it had when it was asked last. */
let [stoodByClockMs, askedMs] = [0, 0];
let place: MainThreadPlace | undefined;
let [isAsking, isNamed, isNoted] = [false, false, false];

parentPort?.on('message', ({ number, plugin }: { number: number; plugin: string }) => plugins.set(number, plugin));
setInterval(look, TICK_MS);

function look(): void {
  const time = { at: performance.now(), waitedMs: waitedMs() };
  const now = { ...time, tick: at(MARKER_TICK), calls: at(MARKER_CALLS), plugin: at(MARKER_PLUGIN) };
  const byClockMs = Math.min(now.at - seen.at, GAP_MS_MAX);
  const gapMs = Math.max(0, byClockMs - (now.waitedMs - seen.waitedMs));
  const isStanding = now.tick === seen.tick;
  const isHeld = now.plugin !== 0 && now.calls === seen.calls;
  stoodByClockMs = isStanding ? stoodByClockMs + byClockMs : 0;
  stoodMs = isStanding ? stoodMs + gapMs : 0;
  heldMs = isHeld ? heldMs + gapMs : 0;
  seen = now;
  if (!isStanding) standsNoMore();
  const marked = heldMs >= NOTED_MS ? plugins.get(now.plugin) : undefined;
  const plugin = marked ?? place?.plugin;
  if (plugin !== undefined && !isNoted) {
    writeNote(noteFile, { plugin, how: 'The process ended while its code was running.' });
    isNoted = true;
  }
  // By the clock: later it may wait where it can't be asked.
  if (place?.plugin === undefined && stoodByClockMs - askedMs >= (isFull() ? ASKED_WHEN_FULL_MS : ASKED_MS)) void ask();
  if (plugin !== undefined && stoodMs >= NAMED_MS && !isNamed) name(plugin);
  if (plugin !== undefined && (marked === undefined ? stoodMs : heldMs) >= ENDED_MS)
    void end(plugin, marked !== undefined);
}

function name(plugin: string): void {
  isNamed = true;
  log.error('plugin.blocks', { plugin, milliseconds: Math.round(stoodMs), calls: place?.calls });
}

/** Without a marker the plugin must still be there: it may have ended, and something of Mailwright's own may take its time. */
async function end(plugin: string, isMarked: boolean): Promise<void> {
  if (isAsking) return;
  if (!isMarked) {
    await ask();
    if (place?.plugin !== plugin) return;
  }
  writeNote(noteFile, { plugin, how: `It held the process for ${ENDED_MS / 1_000} seconds.` });
  log.error('plugin.process_ended', {
    plugin,
    calls: place?.calls,
    message: 'The plugin held the process for too long.',
  });
  process.kill(process.pid, 'SIGKILL');
}

async function ask(): Promise<void> {
  if (isAsking) return;
  isAsking = true;
  const found = await mainThreadPlace().catch(() => undefined);
  isAsking = false;
  askedMs = stoodByClockMs;
  // A thread that does not answer any more, and has not moved since it did, is where it was.
  place = stoodByClockMs > 0 ? (found ?? place ?? { plugin: undefined, calls: [] }) : undefined;
}

function standsNoMore(): void {
  place = undefined;
  askedMs = 0;
  isNamed = false;
  if (isNoted && heldMs === 0) {
    removeNote(noteFile);
    isNoted = false;
  }
}

/** How long the main thread has waited for a processor so far: on an overloaded machine most of the time, and no plugin's fault. 0: nobody knows. */
function waitedMs(): number {
  try {
    return Number(readFileSync(SCHEDULED_FILE, 'utf8').split(' ')[1] ?? 0) / NANOSECONDS_PER_MS;
  } catch {
    return 0;
  }
}

function isFull(): boolean {
  return process.memoryUsage.rss() > heapBytesMax * MEMORY_SHARE;
}

function at(index: number): number {
  return Atomics.load(marker, index);
}
