/** Asks, from another thread, where the main thread is while it stands still: by the debugger's interface, which interrupts running code. */
import { Session, type Debugger } from 'node:inspector';
import { RUNNING_PLUGIN } from './watch-thread-data.ts';

export interface MainThreadPlace {
  /** Whose code runs; undefined: Mailwright's. */
  readonly plugin: string | undefined;
  /** The calls that are under way, the innermost first. */
  readonly calls: readonly string[];
}

/** Waiting in the operating system cannot be interrupted. */
const ANSWER_MS_MAX = 2_000;
const CALLS_MAX = 6;
const ASK = `globalThis[Symbol.for(${JSON.stringify(RUNNING_PLUGIN)})]()`;

/** Undefined: it does not answer. The main thread stands for some tens of milliseconds longer. */
export async function mainThreadPlace(): Promise<MainThreadPlace | undefined> {
  const session = new Session();
  session.connectToMainThread();
  const urls = new Map<string, string>();
  session.on('Debugger.scriptParsed', ({ params: { scriptId, url } }) => void urls.set(scriptId, url));
  try {
    return await new Promise<MainThreadPlace | undefined>((resolve) => {
      setTimeout(() => resolve(undefined), ANSWER_MS_MAX);
      session.once('Debugger.paused', ({ params: { callFrames } }) => {
        const callFrameId = callFrames[0]?.callFrameId ?? '';
        session.post('Debugger.evaluateOnCallFrame', { callFrameId, expression: ASK }, (_error, answer) => {
          const value: unknown = answer?.result.value;
          const calls = callFrames.slice(0, CALLS_MAX).map((frame) => textOf(frame, urls));
          resolve({ plugin: typeof value === 'string' ? value : undefined, calls });
        });
      });
      session.post('Debugger.enable');
      session.post('Debugger.pause');
    });
  } finally {
    session.post('Debugger.disable', () => session.disconnect());
  }
}

function textOf({ functionName, location }: Debugger.CallFrame, urls: ReadonlyMap<string, string>): string {
  const url = (urls.get(location.scriptId) ?? '').split('?', 1)[0];
  return `${functionName || 'anonymous'} (${url}:${location.lineNumber + 1})`;
}
