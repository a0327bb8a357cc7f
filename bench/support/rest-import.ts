/** Imports over REST, as a client does them. */
import http from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { BENCH_TOKEN, type Product } from './product.ts';

const BOUNDARY = 'bench-boundary';
const POLL_MS = 100;

/** A new list with a first and a last name; answers its uid. */
export async function newList(product: Product): Promise<string> {
  const where = { address_1: 'B', city: 'C', zip: '1', state: 'D', country_id: '82', phone: '1' };
  const contact = { company: 'A', email: 'a@example.com', ...where };
  const list = { name: 'Big', default_subject: 'S', from_email: 'a@example.com', from_name: 'A', contact };
  return (await product.rest<{ list_uid: string }>('POST', '/lists', list)).list_uid;
}

interface Upload {
  readonly listUid: string;
  readonly file: Iterable<string>;
  /** Whether flows of the list begin for those who are new. */
  readonly runAutomations?: boolean;
}

/** Uploads the file as it is made and answers the import's uid. */
export async function uploadImport(
  { url }: Product,
  { listUid, file, runAutomations = false }: Upload,
): Promise<string> {
  const req = http.request(`${url}/api/v1/lists/${listUid}/import`, {
    method: 'POST',
    headers: { authorization: `Bearer ${BENCH_TOKEN}`, 'content-type': `multipart/form-data; boundary=${BOUNDARY}` },
  });
  const answered = new Promise<string>((resolve, reject) => {
    req.on('error', reject);
    req.on('response', (answer) => {
      let text = '';
      answer.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      answer.on('end', () => resolve(text));
    });
  });
  await pipeline(Readable.from(multipart(file, runAutomations)), req);
  const answer: unknown = JSON.parse(await answered);
  const uid = typeof answer === 'object' && answer !== null && 'import_uid' in answer ? answer.import_uid : undefined;
  if (typeof uid !== 'string') throw new Error(`The upload was answered with ${JSON.stringify(answer)}.`);
  return uid;
}

function* multipart(file: Iterable<string>, runAutomations: boolean): Generator<string> {
  yield `--${BOUNDARY}\r\nContent-Disposition: form-data; name="run_automations"\r\n\r\n${runAutomations ? 1 : 0}\r\n`;
  yield `--${BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="big.csv"\r\nContent-Type: text/csv\r\n\r\n`;
  yield* file;
  yield `\r\n--${BOUNDARY}--\r\n`;
}

export interface Imported {
  readonly status: string;
  readonly processed: number;
  readonly added: number;
  readonly updated: number;
  readonly unchanged: number;
  readonly error: string | null;
}

/** Waits for the end of the import. Throws when it does not end well. */
export async function untilImported(product: Product, listUid: string, importUid: string): Promise<Imported> {
  for (;;) {
    const answer = await product.rest<{ import: Imported }>('GET', `/lists/${listUid}/imports/${importUid}`);
    const { status, error } = answer.import;
    if (status === 'done') return answer.import;
    if (error !== null || status === 'failed') throw new Error(`The import ended as ${status}: ${error}`);
    await sleep(POLL_MS);
  }
}
