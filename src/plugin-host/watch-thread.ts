/**
 * A thread beside the main thread. It sees who has the event loop: by the marker that calls of plugins set, else by asking where the main
 * thread is. One plugin that holds it is noted after 50 ms, named in the log after two seconds, and after five the process is ended.
 */
import { writeSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { removeNote, writeNote } from '../lib/end-note.ts';
import { createLog } from '../lib/log.ts';
import { mainThreadPlace, type MainThreadPlace } from './main-thread-place.ts';
import { lastedLonger, NO_TIME, waitedForProcessorMs } from './main-thread-time.ts';
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

const { marker, noteFile, level, format, heapBytesMax }: WatchData = workerData;
const STANDARD_ERROR = 2;
const RUNNING = 'The process ended while its code was running.';
const log = createLog({ level, format, write: writeLine });
const plugins = new Map<number, string>();

let seen = { at: performance.now(), waitedMs: waitedForProcessorMs(), tick: 0, calls: 0, plugin: 0 };
/** How long the event loop has stood still, and how long one call of a plugin has lasted. */
let [stood, held] = [NO_TIME, NO_TIME];
/** How long the event loop had stood when the main thread was asked last. */
let asked = NO_TIME;
let place: MainThreadPlace | undefined;
let [isAsking, isNamed, isNoted] = [false, false, false];

parentPort?.on('message', ({ number, plugin }: { number: number; plugin: string }) => plugins.set(number, plugin));
setInterval(look, TICK_MS);

function look(): void {
  const time = { at: performance.now(), waitedMs: waitedForProcessorMs() };
  const now = { ...time, tick: at(MARKER_TICK), calls: at(MARKER_CALLS), plugin: at(MARKER_PLUGIN) };
  const [gapMs, waitedMs] = [now.at - seen.at, now.waitedMs - seen.waitedMs];
  const isStanding = now.tick === seen.tick;
  const isHeld = now.plugin !== 0 && now.calls === seen.calls;
  stood = isStanding ? lastedLonger(stood, gapMs, waitedMs) : NO_TIME;
  held = isHeld ? lastedLonger(held, gapMs, waitedMs) : NO_TIME;
  seen = now;
  if (!isStanding) standsNoMore();
  const marked = held.ownMs >= NOTED_MS ? plugins.get(now.plugin) : undefined;
  const plugin = marked ?? place?.plugin;
  if (plugin !== undefined && !isNoted) {
    writeNote(noteFile, { plugin, how: RUNNING }, { isGuess: true });
    isNoted = true;
  }
  if (place?.plugin === undefined && isTimeToAsk()) void ask();
  if (plugin !== undefined && stood.ownMs >= NAMED_MS && !isNamed) name(plugin);
  if (plugin !== undefined && (marked === undefined ? stood : held).ownMs >= ENDED_MS)
    void end(plugin, marked !== undefined);
}

/** By the clock, because later it may wait where it can't be asked. Memory fills only while it runs. */
function isTimeToAsk(): boolean {
  if (stood.byClockMs - asked.byClockMs >= ASKED_MS) return true;
  return stood.ownMs - asked.ownMs >= ASKED_WHEN_FULL_MS && isFull();
}

function name(plugin: string): void {
  isNamed = true;
  log.error('plugin.blocks', { plugin, milliseconds: Math.round(stood.byClockMs), calls: place?.calls });
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
  const { tick } = seen;
  const found = await mainThreadPlace().catch(() => undefined);
  isAsking = false;
  // It has gone on meanwhile, so the answer says nothing about now.
  if (seen.tick !== tick) return;
  asked = stood;
  // A thread that does not answer any more, and has not moved since it did, is where it was.
  place = found ?? place ?? { plugin: undefined, calls: [] };
}

function standsNoMore(): void {
  place = undefined;
  asked = NO_TIME;
  isNamed = false;
  if (isNoted && held.byClockMs === 0) {
    // One that a plugin wrote by asking for the end stays.
    removeNote(noteFile, RUNNING);
    isNoted = false;
  }
}

function writeLine(line: string): void {
  try {
    writeSync(STANDARD_ERROR, `${line}\n`);
  } catch {
    // Nobody reads what is written. Watching goes on.
  }
}

function isFull(): boolean {
  return process.memoryUsage.rss() > heapBytesMax * MEMORY_SHARE;
}

function at(index: number): number {
  return Atomics.load(marker, index);
}
