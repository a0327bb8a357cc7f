/**
 * The yardstick: what a plain sender of one's own does. It renders the bench's message with the Liquid library for each
 * recipient, composes it, and speaks SMTP one reply at a time over a number of connections. It keeps no row of anybody:
 * killed, it knows nothing of whom it had sent to. `bench/delivery.ts` runs it beside the product.
 *
 *   node bench/reference-sender.ts --port 2525 [--connections 10] [--recipients 20000]
 *
 * Prints one line of JSON: seconds, and processor microseconds a message. Without a port it says how it is used.
 */
import { connect, type Socket } from 'node:net';
import { parseArgs } from 'node:util';
import { Liquid, type Template } from 'liquidjs';
import { benchHtml, benchText } from './support/bench-message.ts';

const { values } = parseArgs({
  options: {
    smoke: { type: 'boolean', default: false },
    port: { type: 'string' },
    connections: { type: 'string', default: '10' },
    recipients: { type: 'string', default: '20000' },
  },
});

const TRACK = 'https://shop.example/link/5f0c2e8a-9d1b-4b7e-a3c6-0d9e8f7a6b5c';
const WORDING = {
  firstName: '{{ first_name | escape }}',
  city: '{{ city | escape }}',
  offer: (n: number) => `${TRACK}/${n}/{{ uid }}`,
  unsubscribe: 'https://shop.example/unsubscribe/{{ uid }}',
};
const engine = new Liquid();
const html = engine.parse(`${benchHtml(WORDING)}<img src="https://shop.example/open/{{ uid }}.gif" alt="">`);
const text = engine.parse(benchText(WORDING));
const subject = engine.parse('News for {{ first_name }}');

async function main(port: number, recipients: number): Promise<void> {
  const [startedAt, cpu] = [performance.now(), process.cpuUsage()];
  let next = 1;
  const work = async (): Promise<void> => {
    const session = await Session.open(port);
    while (next <= recipients) await session.send(next++);
    await session.close();
  };
  await Promise.all(Array.from({ length: Number(values.connections) }, work));
  const seconds = (performance.now() - startedAt) / 1_000;
  const { user, system } = process.cpuUsage(cpu);
  console.log(JSON.stringify({ seconds, cpuMicroseconds: (user + system) / recipients }));
}

/** One connection: a command, its reply, the next command. */
class Session {
  readonly #socket: Socket;
  #received = '';
  #onReply: ((reply: string) => void) | undefined;

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.setEncoding('latin1').on('data', (chunk: string) => this.#take(chunk));
    socket.setNoDelay(true);
  }

  static async open(port: number): Promise<Session> {
    const session = new Session(connect(port, '127.0.0.1'));
    await session.say('', '220');
    await session.say('EHLO reference.invalid\r\n', '250');
    return session;
  }

  async send(number: number): Promise<void> {
    await this.say('MAIL FROM:<news@shop.example>\r\n', '250');
    await this.say(`RCPT TO:<person${number}@example.org>\r\n`, '250');
    await this.say('DATA\r\n', '354');
    await this.say(`${compose(number).replace(/^\./gm, '..')}.\r\n`, '250');
  }

  async close(): Promise<void> {
    await this.say('QUIT\r\n', '221');
    this.#socket.destroy();
  }

  /** Says something and awaits the reply that it needs. */
  async say(line: string, expected: string): Promise<void> {
    const reply = new Promise<string>((resolve) => (this.#onReply = resolve));
    if (line !== '') this.#socket.write(line, 'latin1');
    const answer = await reply;
    if (!answer.startsWith(expected)) throw new Error(`The server said ${answer}`);
  }

  #take(chunk: string): void {
    this.#received += chunk;
    const last = /^\d{3} .*\r\n$/m.exec(this.#received);
    if (!last) return;
    const reply = this.#received;
    this.#received = '';
    this.#onReply?.(reply);
  }
}

function compose(number: number): string {
  const values = { first_name: `Name${number}`, city: `City${number % 100}`, uid: `f47ac10b58cc4372a567${number}` };
  const render = (template: Template[]): string => engine.renderSync(template, values);
  const boundary = `bench-${number}-${Date.now().toString(36)}`;
  const part = (type: string, body: string): string =>
    `--${boundary}\r\nContent-Type: ${type}; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n${quotedPrintable(body)}\r\n`;
  return (
    `From: Shop <news@shop.example>\r\nTo: person${number}@example.org\r\nSubject: ${render(subject)}\r\n` +
    `Date: ${new Date().toUTCString()}\r\nMessage-ID: <${number}.${Date.now()}@shop.example>\r\nMIME-Version: 1.0\r\n` +
    `List-Unsubscribe: <https://shop.example/unsubscribe/${values.uid}>\r\nList-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n` +
    `Content-Type: multipart/alternative; boundary="${boundary}"\r\n\r\n` +
    `${part('text/plain', render(text))}${part('text/html', render(html))}--${boundary}--\r\n`
  );
}

/** RFC 2045 6.7 as most write it: escape, then break what is too long, without cutting an escape. */
function quotedPrintable(body: string): string {
  const escaped = body.replace(/[^\n -<>-~]/g, (character) =>
    Array.from(Buffer.from(character), (byte) => `=${byte.toString(16).toUpperCase().padStart(2, '0')}`).join(''),
  );
  return escaped.split('\n').map(breakLine).join('\r\n');
}

function breakLine(line: string): string {
  if (line.length <= 76) return line;
  const pieces: string[] = [];
  for (let from = 0; from < line.length;) {
    let to = Math.min(from + 75, line.length);
    if (to < line.length && line[to - 1] === '=') to -= 1;
    else if (to < line.length && line[to - 2] === '=') to -= 2;
    pieces.push(line.slice(from, to));
    from = to;
  }
  return pieces.join('=\r\n');
}

if (values.port === undefined) console.log('bench/delivery.ts runs this program; by hand it needs --port.');
else await main(Number(values.port), Number(values.recipients));
