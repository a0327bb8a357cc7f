/**
 * Whether a mail program can be used, without sending anything. There is no question that all of them know: most list their queue
 * (-bp); msmtp has none and asks its server instead; OpenSMTPD answers that there are no recipients.
 */
import type { ConnectionTest } from '../../../src/plugin-api/index.ts';
import { failureOf, wordsOf } from './exit-meaning.ts';
import { startProgram, type ProgramEnd } from './start-program.ts';

/** A person waits for all questions together, and a long queue is listed for minutes. */
const ANSWER_MS_MAX = 5_000;

const NO_RECIPIENTS = /\bno recipients?\b/i;
const MSMTP = /^msmtp version /;

/** Asks the program. Never rejects. */
export async function askProgram(path: string, timeoutMs: number): Promise<ConnectionTest> {
  const ask = (question: string) =>
    startProgram({ path, arguments: [question], timeoutMs: Math.min(timeoutMs, ANSWER_MS_MAX) }).end;
  const queue = await ask('-bp');
  if (isWell(queue) || !queue.isStarted) return answer(queue, path);
  const version = await ask('--version');
  if (version.isStarted && version.code === 0 && MSMTP.test(version.output))
    return answer(await ask('--serverinfo'), path);
  return answer(queue, path);
}

/** It lists its queue (perhaps a long one), or it has read its settings and misses a recipient. */
function isWell(end: ProgramEnd): boolean {
  if (!end.isStarted) return false;
  if (end.code === 0 || NO_RECIPIENTS.test(end.output)) return true;
  return end.isLate && end.output !== '';
}

function answer(end: ProgramEnd, path: string): ConnectionTest {
  if (isWell(end)) return { ok: true };
  if (end.isStarted && end.isLate) return { ok: false, message: `${path} does not answer. ${wordsOf(end)}`.trim() };
  return { ok: false, message: failureOf(end, path)?.message ?? `${path} does not answer.` };
}
