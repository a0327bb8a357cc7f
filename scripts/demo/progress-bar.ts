/** A progress bar on a terminal; elsewhere a line now and then. */
import { stdout } from 'node:process';

export interface ProgressBar {
  show(share: number, detail: string): void;
  /** Keeps the last state on the screen. */
  end(): void;
}

const WIDTH = 28;
const LABEL_WIDTH = 10;
/** Without a terminal, one line per quarter is enough for a log. */
const STEP = 0.25;

export function progressBar(label: string): ProgressBar {
  let line = '';
  let printed = -STEP;
  return {
    show(share, detail) {
      const filled = Math.round(Math.min(1, Math.max(0, share)) * WIDTH);
      line = `  ${label.padEnd(LABEL_WIDTH)} ${'█'.repeat(filled)}${'░'.repeat(WIDTH - filled)} ${detail}`;
      if (stdout.isTTY) stdout.write(`\r\x1b[2K${line}`);
      else if (share >= printed + STEP) {
        printed = share;
        console.log(line);
      }
    },
    end() {
      if (stdout.isTTY) stdout.write('\n');
      else if (printed < 1) console.log(line);
    },
  };
}
