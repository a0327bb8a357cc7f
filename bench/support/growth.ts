/**
 * How the time of a parser grows with what it is given. It gets hostile texts of n, 2n, 4n, ... up to its limit: twice the text
 * may take at most 2.5 times as long, and the longest text may not hold the thread longer than the bound. Processor time of this
 * thread is measured and not the clock, and the best of several runs counts, so a busy machine does not change the result.
 */
import { setImmediate as turn } from 'node:timers/promises';

/** One parser of foreign input. */
export interface GrowthCase {
  readonly name: string;
  /** Characters of the longest input that the parser is given; above it, the input is refused before. */
  readonly lengthMax: number;
  /** What the thread may be held for by one input. */
  readonly boundMs?: number;
  /** It runs in a thread that is ended after so much processor time: what takes longer is no fault, and nobody else waits. */
  readonly endedAtMs?: number;
  /** Makes a text of about this length, by the name of its shape. */
  readonly shapes: Readonly<Record<string, (length: number) => string>>;
  /** An error that it throws is an answer, too; only a RangeError (a stack that overflows) is a fault. */
  readonly parse: (text: string) => unknown;
  /** Reads the processor time that counts, in milliseconds; this thread's unless given. */
  readonly cpuMs?: () => number;
  /** A shorter time than this is not measured exactly: the text is parsed again and again until so much has passed. */
  readonly measuredMsMin?: number;
  /** How long everybody else waited while this was parsed, where that can be seen: the bound is about it. */
  readonly heldMs?: (text: string) => Promise<number>;
}

/** Twice the input in at most so many times the time. */
const RATIO_MAX = 2.5;
/** One thread serves everybody, so nothing that comes from outside may hold it longer. */
const BOUND_MS = 50;
/** Below, the garbage collector and the compiler of the engine are seen more than the parser. */
const RATIO_FROM_MS = 4;
/** Processor time is counted in steps of up to 4 ms, so a short text is parsed until at least so much has passed. */
const MEASURED_MS_MIN = 20;
/** By the clock, for what mostly waits: a request, say. */
const MEASURING_MS_MAX = 500;
/** The shortest input of a series. */
const LENGTH_MIN = 1_000;
const RUNS = 2;
const DOUBLINGS_OF_SHORT = 2;
const SHAPES_OF_SHORT = 3;
/** Work that may take longer is cut in a short run. */
const SHORT_MS_MAX = 1_000;
/** A figure that looks wrong is measured again so many times before it is believed. */
const UNCERTAIN_RUNS = 12;

export interface GrowthOptions {
  /** Only n, 2n and 4n of three shapes, and of work that may take long an eighth: for a smoke run. */
  readonly isShort?: boolean;
}

/** Plays every case and prints a line for each. Answers what is wrong, one sentence each. */
export async function measureGrowth(
  cases: readonly GrowthCase[],
  { isShort = false }: GrowthOptions = {},
): Promise<string[]> {
  const faults: string[] = [];
  for (const given of cases) {
    const item = isShort ? shortened(given) : given;
    let slowest = { shape: '', ms: 0, heldMs: 0, isEnded: false };
    for (const [shape, make] of Object.entries(item.shapes)) {
      const found = await measureShape(item, { make, doublings: isShort ? DOUBLINGS_OF_SHORT : Infinity });
      const { ms, heldMs = 0, isEnded = false, fault } = found;
      if (fault !== undefined) faults.push(`${item.name}, ${shape}: ${fault}`);
      if (item.heldMs ? heldMs >= slowest.heldMs : ms >= slowest.ms) slowest = { shape, ms, heldMs, isEnded };
    }
    const held = item.heldMs ? `, others wait ${slowest.heldMs.toFixed(0)} ms` : '';
    const figures = `${String(item.lengthMax).padStart(10)} ${slowest.ms.toFixed(1).padStart(8)} ms${held}`;
    console.log(`${item.name.padEnd(40)} ${figures}  ${slowest.shape}${slowest.isEnded ? ' (ended)' : ''}`);
  }
  return faults;
}

function shortened(item: GrowthCase): GrowthCase {
  const isLong = item.heldMs !== undefined || (item.endedAtMs ?? item.boundMs ?? BOUND_MS) > SHORT_MS_MAX;
  return {
    ...item,
    shapes: Object.fromEntries(Object.entries(item.shapes).slice(0, SHAPES_OF_SHORT)),
    ...(isLong ? { lengthMax: Math.floor(item.lengthMax / 8) } : {}),
  };
}

interface ShapeFigures {
  /** Processor time of the longest input. */
  readonly ms: number;
  readonly heldMs?: number | undefined;
  readonly isEnded?: boolean;
  readonly fault?: string;
}

/** The time of the longest input, and what is wrong with it or with the growth. */
async function measureShape(
  item: GrowthCase,
  { make, doublings }: { make: (length: number) => string; doublings: number },
): Promise<ShapeFigures> {
  const boundMs = item.heldMs || item.endedAtMs !== undefined ? Infinity : (item.boundMs ?? BOUND_MS);
  const ratioFromMs = Math.max(RATIO_FROM_MS, (item.measuredMsMin ?? 0) / 2);
  const isTooFast = (halfMs: number | undefined, ms: number): boolean =>
    // The first of a series has nothing to be compared with.
    halfMs !== undefined && ms > Math.max(ratioFromMs, RATIO_MAX * halfMs);
  const longest = make(item.lengthMax);
  const longestMs = await timeOf(item, longest);
  // So little at the limit is no fault, however it has grown.
  if (longestMs <= Math.min(ratioFromMs, boundMs)) return { ms: longestMs, ...(await heldBy(item, longest)) };
  let before: { text: string; ms: number } | undefined;
  for (const length of lengthsUpTo(item.lengthMax, Math.min(doublings, item.heldMs ? DOUBLINGS_OF_SHORT : Infinity))) {
    const text = make(length);
    let ms = await bestOf(RUNS, item, text);
    const isWrong = (): boolean => ms > boundMs || isTooFast(before?.ms, ms);
    for (let run = 0; run < UNCERTAIN_RUNS && isWrong(); run += 1) {
      ms = Math.min(ms, await timeOf(item, text));
      if (before && ms <= boundMs) before.ms = Math.max(before.ms, await bestOf(RUNS, item, before.text));
    }
    if (item.endedAtMs !== undefined && ms > item.endedAtMs) return { ms, isEnded: true };
    if (ms > boundMs)
      return { ms, fault: `${length} characters take ${ms.toFixed(1)} ms; the bound is ${boundMs} ms.` };
    if (before && isTooFast(before.ms, ms)) {
      const times = (ms / before.ms).toFixed(1);
      return { ms, fault: `${length} characters take ${ms.toFixed(1)} ms, ${times} times what half of them take.` };
    }
    before = { text, ms };
  }
  return { ms: before?.ms ?? 0, ...(await heldBy(item, before?.text ?? '')) };
}

/** The shortest of several waits: what else runs on the machine makes others wait, too. */
async function heldBy(
  { heldMs, boundMs = BOUND_MS }: GrowthCase,
  text: string,
): Promise<Pick<ShapeFigures, 'heldMs' | 'fault'>> {
  if (!heldMs) return {};
  let held = Infinity;
  for (let run = 0; run < RUNS || (run < UNCERTAIN_RUNS && held > boundMs); run += 1)
    held = Math.min(held, await heldMs(text));
  if (held <= boundMs) return { heldMs: held };
  const fault = `${text.length} characters keep everybody else waiting for ${held.toFixed(0)} ms; the bound is ${boundMs} ms.`;
  return { heldMs: held, fault };
}

/** The limit, its half, its quarter and so on, the shortest first. */
function lengthsUpTo(lengthMax: number, doublings: number): number[] {
  const lengths = [lengthMax];
  for (let length = lengthMax; length / 2 >= LENGTH_MIN && lengths.length <= doublings;) {
    length = Math.floor(length / 2);
    lengths.unshift(length);
  }
  return lengths;
}

async function bestOf(runs: number, item: GrowthCase, text: string): Promise<number> {
  let best = Infinity;
  for (let run = 0; run < runs; run += 1) best = Math.min(best, await timeOf(item, text));
  return best;
}

/** The mean of as many runs as it takes to be measured. */
async function timeOf(item: GrowthCase, text: string): Promise<number> {
  const { parse, cpuMs = threadCpuMs, measuredMsMin = MEASURED_MS_MIN } = item;
  const startedAt = performance.now();
  const startMs = cpuMs();
  for (let runs = 1; ; runs += 1) {
    try {
      await parse(text);
    } catch (error) {
      if (error instanceof RangeError) return Infinity;
    }
    const ms = cpuMs() - startMs;
    if (ms >= measuredMsMin || performance.now() - startedAt > MEASURING_MS_MAX) return ms / runs;
  }
}

/** The most processor time that `work` takes of this thread before others have their turn. */
export async function longestBlock(work: () => unknown): Promise<number> {
  let isDone = false;
  let longest = 0;
  let before = threadCpuMs();
  const working = Promise.resolve(work()).finally(() => (isDone = true));
  while (!isDone) {
    await turn();
    const now = threadCpuMs();
    longest = Math.max(longest, now - before);
    before = now;
  }
  await working;
  return longest;
}

function threadCpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

/** The same characters again and again, the last ones cut where the length ends. */
export function repeated(piece: string, end = ''): (length: number) => string {
  return (length) => piece.repeat(Math.ceil(length / piece.length)).slice(0, length) + end;
}

/** The same characters again and again, all of them whole. */
export function whole(piece: string): (length: number) => string {
  return (length) => piece.repeat(Math.floor(length / piece.length));
}

/** Opened again and again, and closed as often. */
export function nested(open: string, close: string, inside = ''): (length: number) => string {
  return (length) => {
    const depth = Math.floor(length / (open.length + close.length));
    return open.repeat(depth) + inside + close.repeat(depth);
  };
}

/** Something that looks like the beginning of a match until its last character. */
export function nearMiss(start: string, piece: string, end: string): (length: number) => string {
  return (length) => start + repeated(piece)(Math.max(0, length - start.length - end.length)) + end;
}
