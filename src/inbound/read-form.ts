/** Reads the small forms of the public pages, urlencoded or multipart (RFC 8058 allows both). */
import type { IncomingMessage } from 'node:http';
import { hasFewPairs, readBody } from '../lib/bounded-body.ts';

/** A button and a reason take a hundred bytes; robots send more headers, as multipart. */
export const FORM_BYTES_MAX = 8_192;
/** Each of our pages has fewer; the rest of a body is not looked at. */
const FIELDS_MAX = 100;

/** In the text of a body; with more of these signs it is not parsed. Values contain a few of them. */
const PAIRS_MAX = 1_000;

/** Texts by name. A body that is no form is an empty form. */
export type Form = ReadonlyMap<string, string>;

/**
 * The form, or undefined when it is larger than `bytesMax`. Of equal names the first one counts; values of the names `joined` are
 * one text with commas, without empty ones.
 */
export async function readForm(
  req: IncomingMessage,
  bytesMax = FORM_BYTES_MAX,
  joined: ReadonlySet<string> = new Set(),
): Promise<Form | undefined> {
  const bytes = await readBody(req, { bytesMax });
  return bytes && parseForm(bytes, req.headers['content-type'] ?? '', joined);
}

async function parseForm(bytes: Buffer, contentType: string, joined: ReadonlySet<string>): Promise<Form> {
  const form = new Map<string, string>();
  // Counted first, because the parser makes an object of each pair.
  if (!hasFewPairs(bytes.toString('latin1'), PAIRS_MAX)) return form;
  try {
    const data = await new Response(new Uint8Array(bytes), { headers: { 'Content-Type': contentType } }).formData();
    for (const [name, value] of data) {
      if (form.size >= FIELDS_MAX) break;
      if (typeof value !== 'string') continue;
      const before = form.get(name);
      if (before === undefined) form.set(name, value);
      else if (joined.has(name)) form.set(name, [before, value].filter((part) => part !== '').join(', '));
    }
  } catch {
    // Not a form. A POST to an unsubscribe link counts with any body.
  }
  return form;
}
