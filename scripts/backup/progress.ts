/** Shows how far a backup or a restore is: one line that changes on a terminal, otherwise a line every few seconds. */
import { readableBytes } from '../../src/lib/units.ts';

export interface Progress {
  /** A new step; `bytes` is about how much it moves, 0: unknown. */
  begin(step: string, bytes: number): void;
  advance(bytes: number, what: string): void;
  end(): void;
}

const LINE_EVERY_MS = 5_000;
const REDRAW_EVERY_MS = 100;

export function showProgress(stream: NodeJS.WriteStream = process.stderr): Progress {
  let [name, total, done, shownAt] = ['', 0, 0, 0];
  const show = (text: string): void => {
    shownAt = performance.now();
    stream.write(stream.isTTY ? `\r\u001b[K${text.slice(0, stream.columns - 1)}` : `${text}\n`);
  };
  return {
    begin(step, bytes) {
      [name, total, done] = [step, bytes, 0];
      show(`${name}${total > 0 ? ` about ${readableBytes(total)}` : ''} …`);
    },
    advance(bytes, what) {
      done += bytes;
      if (performance.now() - shownAt < (stream.isTTY ? REDRAW_EVERY_MS : LINE_EVERY_MS)) return;
      const share = total > 0 ? ` ${String(Math.min(100, Math.floor((done / total) * 100)))} %` : '';
      show(`${name}${share}  ${what}`);
    },
    end() {
      if (stream.isTTY) stream.write('\r\u001b[K');
    },
  };
}
