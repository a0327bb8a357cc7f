/**
 * The files of a campaign's messages: its attachments, and the stored pictures that its html shows, if they are to be embedded.
 * Their bytes are read only for messages that are sent, not for a page or a check.
 */
import type { Queryable } from '../../../db/database.ts';
import type { CodedReason, ReasonTexts } from '../../../lib/coded-reason.ts';
import { ValidationError } from '../../../lib/errors.ts';
import { readWholeFile } from '../../files/file-store.ts';
import {
  encodedBytes,
  isInlineImage,
  MESSAGE_BYTES_MAX,
  MESSAGE_FILES_MAX,
  type InlineImage,
  type MessageFile,
  type MessageFiles,
} from '../../content/message-files.ts';
import type { CampaignKey } from '../../statistics/campaign-key.ts';
import { attachmentsOf, storedFiles, type Attachment, type StoredBytes } from './campaign-files-read-model.ts';

export type FilesWanted = 'none' | 'whole';

/** The texts of a message have their own limits; embedded pictures may take what attachments leave. */
const EMBEDDED_BYTES_MAX = MESSAGE_BYTES_MAX * 0.8;
/** A file of this installation by its public address, on any host. */
const FILE_URL = /https?:\/\/[^\s"'<>()]{1,255}\/files\/([0-9a-f]{32})\/[^\s"'<>()?#&]{1,700}/g;

export interface FileFaultParams {
  attachment_missing: { readonly name: string };
  too_many_files: { readonly max: number };
  message_too_large: { readonly megabytes: number };
}
export type FileFault = CodedReason<FileFaultParams>;

export const fileFaultTexts: ReasonTexts<FileFaultParams> = {
  attachment_missing: ({ name }) =>
    `The attachment "${name}" is missing: its file was deleted. Remove it, or attach it again.`,
  too_many_files: ({ max }) => `A message may have at most ${max} files.`,
  message_too_large: ({ megabytes }) =>
    `With its files, the message is larger than the ${megabytes} MB that mailboxes accept.`,
};

export function fileFaultText<Code extends keyof FileFaultParams>(fault: CodedReason<FileFaultParams, Code>): string {
  return fileFaultTexts[fault.code](fault.params);
}

/** Their faults: deleted files, and too large a sum. */
export function faultsOf(attachments: readonly Attachment[]): FileFault[] {
  const faults: FileFault[] = attachments
    .filter(({ file }) => file === null)
    .map(({ name }) => ({ code: 'attachment_missing', params: { name } }));
  if (attachments.length > MESSAGE_FILES_MAX)
    faults.push({ code: 'too_many_files', params: { max: MESSAGE_FILES_MAX } });
  const bytes = attachments.reduce((sum, { file }) => sum + encodedBytes(file?.size ?? 0), 0);
  if (bytes > MESSAGE_BYTES_MAX)
    faults.push({ code: 'message_too_large', params: { megabytes: MESSAGE_BYTES_MAX / 1_048_576 } });
  return faults;
}

/** Files for compiling a message. Throws ValidationError on `attachments` when a complete message lacks one. */
export async function filesOfMessage(
  db: Queryable,
  key: CampaignKey,
  { html, wanted, baseUrl }: { html: string; wanted: FilesWanted; baseUrl: string },
): Promise<MessageFiles> {
  const attachments = await attachmentsOf(db, key);
  const faults = wanted === 'whole' ? faultsOf(attachments).map(fileFaultText) : [];
  if (faults.length > 0) throw new ValidationError({ attachments: faults }, 'ATTACHMENT_FAULT', faults.join(' '));
  const load = async (id: bigint): Promise<Uint8Array> =>
    wanted === 'whole' ? readWholeFile(db, { customerId: key.customerId, id }) : new Uint8Array();
  const files: MessageFile[] = [];
  const images: InlineImage[] = [];
  for (const { uid, name, isInline, file } of attachments) {
    if (!file) continue;
    const part = { name, type: file.type, bytes: await load(file.id) };
    const url = `${baseUrl}/files/${file.token}/${encodeURIComponent(file.name)}`;
    if (isInline) images.push({ ...part, id: uid, reference: `cid:${name}`, url });
    else files.push(part);
  }
  const taken = attachments.reduce((sum, { file }) => sum + encodedBytes(file?.size ?? 0), 0);
  for (const { url, file } of await shownIn(db, key, html, { files: attachments.length, bytes: taken }))
    images.push({ name: file.name, type: file.type, bytes: await load(file.id), id: file.token, reference: url, url });
  return { attachments: files, images };
}

/** Stored pictures that the html shows, as many as fit; the others stay addresses. */
async function shownIn(
  db: Queryable,
  { customerId }: CampaignKey,
  html: string,
  taken: { files: number; bytes: number },
): Promise<{ url: string; file: StoredBytes }[]> {
  const urls = new Map(Array.from(html.matchAll(FILE_URL), ([url, token = '']) => [token, url]));
  if (urls.size === 0) return [];
  const rows = await storedFiles(db, customerId, [...urls.keys()]);
  let { files, bytes } = taken;
  return rows.flatMap((file) => {
    bytes += encodedBytes(file.size);
    const fits = isInlineImage(file.type) && ++files <= MESSAGE_FILES_MAX && bytes <= EMBEDDED_BYTES_MAX;
    if (!fits) bytes -= encodedBytes(file.size);
    const url = urls.get(file.token);
    return fits && url !== undefined ? [{ url, file }] : [];
  });
}
