/**
 * How the time of a parser grows with what it is given. It gets hostile texts of n, 2n, 4n, ... up to its limit: twice the text
 * may take at most 2.5 times as long, and the longest text may not hold the thread longer than the bound. Processor time of this
 * thread is measured and not the clock, and the best of several runs counts, so a busy machine does not change the result.
 */

/** One parser of foreign input. */
export interface GrowthCase {
  readonly name: string;
  /** Characters of the longest input that the parser is given; above it, the input is refused before. */
  readonly lengthMax: number;
  /** What the thread may be held for by one input. */
  readonly boundMs?: number;
  /** Makes a text of about this length, by the name of its shape. */
  readonly shapes: Readonly<Record<string, (length: number) => string>>;
  /** An error that it throws is an answer, too; only a RangeError (a stack that overflows) is a fault. */
  readonly parse: (text: string) => unknown;
  /** Reads the processor time that counts, in milliseconds; this thread's unless given. */
  readonly cpuMs?: () => number;
}

/** Twice the input in at most so many times the time. */
const RATIO_MAX = 2.5;
/** One thread serves everybody, so nothing that comes from outside may hold it longer. */
const BOUND_MS = 50;
/** Below, the garbage collector and the compiler of the engine are seen more than the parser. */
const RATIO_FROM_MS = 4;
/** The shortest input of a series. */
const LENGTH_MIN = 1_000;
const RUNS = 3;
/** A figure that looks wrong is measured again so many times before it is believed. */
const RUNS_OF_DOUBT = 12;

/** Plays every case and prints a line for each. Answers what is wrong, one sentence each. */
export async function measureGrowth(cases: readonly GrowthCase[]): Promise<string[]> {
  const faults: string[] = [];
  for (const item of cases) {
    let slowest = { shape: '', ms: 0 };
    for (const [shape, make] of Object.entries(item.shapes)) {
      const { ms, fault } = await measureShape(item, make);
      if (fault !== undefined) faults.push(`${item.name}, ${shape}: ${fault}`);
      if (ms >= slowest.ms) slowest = { shape, ms };
    }
    console.log(
      `${item.name.padEnd(40)} ${String(item.lengthMax).padStart(10)} ${slowest.ms.toFixed(1).padStart(8)} ms  ${slowest.shape}`,
    );
  }
  return faults;
}

/** The time of the longest input, and what is wrong with it or with the growth. */
async function measureShape(
  item: GrowthCase,
  make: (length: number) => string,
): Promise<{ ms: number; fault?: string }> {
  const boundMs = item.boundMs ?? BOUND_MS;
  let before = { text: '', ms: 0 };
  for (const length of lengthsUpTo(item.lengthMax)) {
    const text = make(length);
    let ms = await bestOf(RUNS, item, text);
    const isWrong = (): boolean => ms > boundMs || growsTooFast(before.ms, ms);
    for (let run = 0; run < RUNS_OF_DOUBT && isWrong(); run += 1) {
      ms = Math.min(ms, await timeOf(item, text));
      if (ms <= boundMs) before.ms = Math.max(before.ms, await bestOf(RUNS, item, before.text));
    }
    if (ms > boundMs)
      return { ms, fault: `${length} characters take ${ms.toFixed(1)} ms; the bound is ${boundMs} ms.` };
    if (growsTooFast(before.ms, ms)) {
      const times = (ms / before.ms).toFixed(1);
      return { ms, fault: `${length} characters take ${ms.toFixed(1)} ms, ${times} times what half of them take.` };
    }
    before = { text, ms };
  }
  return { ms: before.ms };
}

function growsTooFast(halfMs: number, ms: number): boolean {
  return ms > Math.max(RATIO_FROM_MS, RATIO_MAX * halfMs);
}

/** The limit, its half, its quarter and so on, the shortest first. */
function lengthsUpTo(lengthMax: number): number[] {
  const lengths = [lengthMax];
  for (let length = lengthMax; length / 2 >= LENGTH_MIN;) {
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

async function timeOf({ parse, cpuMs = threadCpuMs }: GrowthCase, text: string): Promise<number> {
  const startMs = cpuMs();
  try {
    await parse(text);
  } catch (error) {
    if (error instanceof RangeError) return Infinity;
  }
  return cpuMs() - startMs;
}

function threadCpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

/** The same characters again and again. */
export function repeated(piece: string, end = ''): (length: number) => string {
  return (length) => piece.repeat(Math.ceil(length / piece.length)).slice(0, length) + end;
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
