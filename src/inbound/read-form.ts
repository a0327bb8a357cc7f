/** Reads the small forms of the public pages, urlencoded or multipart (RFC 8058 allows both). */
import type { IncomingMessage } from 'node:http';

/** A button and a reason take a hundred bytes; robots add headers of multipart. */
export const FORM_BYTES_MAX = 8_192;
/** Each of our pages has fewer; the rest of a body is not looked at. */
const FIELDS_MAX = 100;

/** Texts by name; of equal names the first. A body that is no form is an empty form. */
export type Form = ReadonlyMap<string, string>;

/** The form, or undefined when it is larger than `bytesMax`. */
export async function readForm(req: IncomingMessage, bytesMax = FORM_BYTES_MAX): Promise<Form | undefined> {
  const bytes = await readBody(req, bytesMax);
  return bytes && parseForm(bytes, req.headers['content-type'] ?? '');
}

/** The body, or undefined when it is larger than `bytesMax`. */
export async function readBody(req: IncomingMessage, bytesMax: number): Promise<Uint8Array<ArrayBuffer> | undefined> {
  if (Number(req.headers['content-length'] ?? 0) > bytesMax) return undefined;
  const bytes = new Uint8Array(bytesMax);
  let size = 0;
  // The connection stays open for the answer even when the body is not read to its end.
  for await (const chunk of req.iterator({ destroyOnReturn: false })) {
    if (!Buffer.isBuffer(chunk)) continue;
    if (size + chunk.length > bytesMax) return undefined;
    bytes.set(chunk, size);
    size += chunk.length;
  }
  return bytes.subarray(0, size);
}

async function parseForm(bytes: Uint8Array<ArrayBuffer>, contentType: string): Promise<Form> {
  const form = new Map<string, string>();
  try {
    const data = await new Response(bytes, { headers: { 'Content-Type': contentType } }).formData();
    for (const [name, value] of data) {
      if (form.size >= FIELDS_MAX) break;
      if (typeof value === 'string' && !form.has(name)) form.set(name, value);
    }
  } catch {
    // Not a form. Whoever posts to an unsubscribe link means it, whatever the body looks like.
  }
  return form;
}
