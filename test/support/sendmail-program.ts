/** A mail program for tests: a shell script in a folder of its own that behaves as the test says and keeps what it takes. */
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { TestVendor, VendorBehaviour } from '../../src/plugin-testing/test-vendor.ts';
import { isAlive } from '../../src/lib/is-alive.ts';

const SLOW_SECONDS = 0.2;
/** Longer than any test waits. */
const ALWAYS_SECONDS = 600;

/** Called as `sendmail -i -f FROM -- TO`, or with a question. */
const SCRIPT = `#!/bin/sh
here=\${0%/*}
echo "start $$" >> "$here/log"
trap 'echo "end $$" >> "$here/log"' EXIT
trap 'exit 143' TERM
keep() { cat > "$here/$$.part"; mv "$here/$$.part" "$here/taken/$1.$$"; }
if [ "$1" = -bp ]; then echo 'Mail queue is empty'; exit 0; fi
read -r how < "$here/how"
case $how in
takes) keep "$5" ;;
slow) sleep ${SLOW_SECONDS}; keep "$5" ;;
refuses) cat > /dev/null; echo 'No such user here' >&2; exit 67 ;;
defers) cat > /dev/null; echo 'The queue is full' >&2; exit 75 ;;
silent) keep "$5"; sleep ${ALWAYS_SECONDS} ;;
*) eval "$how" ;;
esac
`;

export interface SendmailProgram extends TestVendor, Disposable {
  /** Its path. */
  readonly path: string;
  readonly folder: string;
  /** Lets it run this line of shell: \`keep "$5"\` takes the message; the recipient is \`$5\`. */
  run(line: string): void;
}

const WORD_OF: Readonly<Record<VendorBehaviour, string>> = {
  takes: 'takes',
  slow: 'slow',
  refuses: 'refuses',
  defers: 'defers',
  'never answers': 'silent',
  'is away': 'takes',
};

export function makeSendmail(): SendmailProgram {
  const folder = mkdtempSync(path.join(tmpdir(), 'mailwright-sendmail-'));
  const program = path.join(folder, 'sendmail');
  const run = (line: string) => writeFileSync(path.join(folder, 'how'), `${line}\n`);
  mkdirSync(path.join(folder, 'taken'));
  writeFileSync(path.join(folder, 'log'), '');
  writeFileSync(program, SCRIPT, { mode: 0o755 });
  run('takes');
  const remove = () => rmSync(folder, { recursive: true, force: true });
  return {
    path: program,
    folder,
    settings: { path: program },
    run,
    behave(how) {
      run(WORD_OF[how]);
      chmodSync(program, how === 'is away' ? 0o644 : 0o755);
    },
    taken: () => takenIn(path.join(folder, 'taken')),
    connections: () => processesOf(readFileSync(path.join(folder, 'log'), 'utf8')),
    close: async () => remove(),
    [Symbol.dispose]: remove,
  };
}

function takenIn(folder: string) {
  return readdirSync(folder).map((name) => {
    const text = readFileSync(path.join(folder, name), 'utf8');
    return {
      to: name.slice(0, name.lastIndexOf('.')),
      id: /^Message-ID: (\S+)/im.exec(text)?.[1] ?? '',
      // As it was before it became a text of Unix.
      content: text.replaceAll('\n', '\r\n'),
    };
  });
}

function processesOf(log: string) {
  const running = new Set<string>();
  let ever = 0;
  let most = 0;
  for (const line of log.split('\n')) {
    const [what, pid = ''] = line.split(' ');
    if (what === 'end') running.delete(pid);
    if (what !== 'start') continue;
    ever += 1;
    running.add(pid);
    most = Math.max(most, running.size);
  }
  return { ever, most, now: [...running].filter((pid) => isAlive(Number(pid))).length };
}
