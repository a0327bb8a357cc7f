/** Reading the license document that the operator has configured (D40), from a file or an address, and checking who has signed it. */
import { open } from 'node:fs/promises';
import type { z } from 'zod';
import { messageOf, ValidationError } from '../../lib/errors.ts';
import { openOutbound } from '../../lib/outbound-request.ts';
import { isSignedBy } from '../../lib/signature.ts';
import { endChecks, inTransaction, type Context } from '../context.ts';
import { dropLicense, keepLicense, licenseDocument, licenseText, readLicense, type License } from './license.ts';

/** A document has some hundred bytes. */
const DOCUMENT_BYTES_MAX = 65_536;
const FETCH_MS_MAX = 10_000;

const licenseNotValid = (reason: string) =>
  new ValidationError({ license: [reason] }, 'LICENSE_NOT_VALID', 'The license was not refreshed.');

/**
 * Reads the document, and answers what it says; without one this is the community edition. Throws ValidationError `LICENSE_NOT_VALID` with the
 * reason; then the license that was read before stays.
 */
export async function refreshLicense(ctx: Context): Promise<License> {
  const { licenseSource: source = '', licenseKeys: keys = [] } = ctx.installation.trust ?? {};
  endChecks(ctx);
  const text = source === '' ? undefined : await signedText(ctx, { source, keys });
  return inTransaction(ctx, async (inner) => {
    if (text) await keepLicense(inner, text);
    else await dropLicense(inner);
    return readLicense(inner);
  });
}

async function signedText(
  ctx: Context,
  { source, keys }: { readonly source: string; readonly keys: readonly string[] },
): Promise<z.output<typeof licenseText>> {
  if (keys.length === 0)
    throw licenseNotValid('No key is known: set LICENSE_KEYS to the public key of who issues licenses.');
  const bytes = await read(ctx, source).catch((error: unknown) => {
    throw licenseNotValid(`The document ${source} cannot be read. ${messageOf(error)}`);
  });
  const document = licenseDocument.safeParse(parsed(bytes));
  if (!document.success) throw licenseNotValid(`The document ${source} is no license.`);
  const { license, signature } = document.data;
  if (!isSignedBy(keys, Buffer.from(license), signature))
    throw licenseNotValid('No key of LICENSE_KEYS has signed it.');
  const text = licenseText.safeParse(parsed(license));
  if (!text.success) throw licenseNotValid('It is signed, but says no holder, plan and expiry.');
  return text.data;
}

async function read(ctx: Context, source: string): Promise<string> {
  if (!/^https?:\/\//.test(source)) return readStart(source);
  const allowed = ctx.installation.outboundAllowHosts ?? [];
  const answer = await openOutbound(source, { allowed, timeoutMs: FETCH_MS_MAX, bytesMax: DOCUMENT_BYTES_MAX });
  try {
    const chunks: Buffer[] = [];
    for await (const chunk of answer.body) chunks.push(chunk);
    return Buffer.concat(chunks).toString('utf8');
  } finally {
    answer.close();
  }
}

/** No more than a document may have, whatever the file is. */
async function readStart(file: string): Promise<string> {
  const handle = await open(file, 'r');
  try {
    const { bytesRead, buffer } = await handle.read(Buffer.alloc(DOCUMENT_BYTES_MAX), 0, DOCUMENT_BYTES_MAX, 0);
    return buffer.toString('utf8', 0, bytesRead);
  } finally {
    await handle.close();
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
