/** A Mailwright for the demo, which keeps its data. */
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { startOwnInstallation } from '../support/own-installation.ts';
import { DemoError } from './demo-error.ts';

export interface DemoInstallation {
  readonly url: string;
  readonly token: string;
  /** Resolves when it has ended, by itself or by `stop`. */
  readonly ended: Promise<void>;
  stop(): Promise<void>;
}

/** 60 letters and digits, like all tokens. */
const TOKEN_BYTES = 30;

/**
 * Starts it and waits until it is ready. From now on Ctrl-C ends it and then this program. Throws DemoError with its output when
 * it does not start.
 */
export async function startDemoInstallation(dataDir: string, onSignal: () => void): Promise<DemoInstallation> {
  const token = keptToken(dataDir);
  let isReady = false;
  const onStart = (stop: () => Promise<void>): void => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.once(signal, () => {
        onSignal();
        void stop().finally(() => process.exit());
      });
    }
  };
  // Once it is ready its warnings are shown.
  const onOutput = (chunk: Buffer): void => void (isReady && process.stderr.write(chunk));
  try {
    const settings = { LOG_LEVEL: 'warn' };
    const { url, ended, stop } = await startOwnInstallation({ dataDir, token, settings, onOutput, onStart });
    isReady = true;
    return { url, token, ended, stop };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new DemoError(`${reason}\n(Another place for its data: --data-dir <dir>)`);
  }
}

/** The token counts on the first start only, so it is kept for the next demo. */
function keptToken(dataDir: string): string {
  const file = path.join(dataDir, 'demo-token');
  if (!existsSync(file)) {
    mkdirSync(dataDir, { recursive: true });
    writeFileSync(file, `${randomBytes(TOKEN_BYTES).toString('hex')}\n`, { mode: 0o600 });
  }
  return readFileSync(file, 'utf8').trim();
}
