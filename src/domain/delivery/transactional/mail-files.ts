/** Checks the files that go with a transactional mail: bytes that came with the call, and uploaded files. */
import { fileTypeFromBuffer } from 'file-type';
import { ValidationError } from '../../../lib/errors.ts';
import { requireScope } from '../../accounts/require-scope.ts';
import {
  encodedBytes,
  isRefusedFile,
  MESSAGE_BYTES_MAX,
  MESSAGE_FILE_BYTES_MAX,
  MESSAGE_FILES_MAX,
} from '../../content/message-files.ts';
import type { Context } from '../../context.ts';
import { placeOf } from '../../files/file.ts';
import { findOwnedFile } from '../../files/file-store.ts';
import type { NewMessageFile } from '../../messages/transactional-mail-store.ts';
import type { MailInput } from './transactional.ts';

interface SizedFile extends NewMessageFile {
  readonly size: number;
}

/** As many bytes as are needed to know a type. */
const HEAD_BYTES = 65_536;

/**
 * The files as they are stored. Throws ValidationError on `attachments` and `fileUids`, NotFoundError and ForeignResourceError
 * `FILE_NOT_FOUND`, ForbiddenError (uploaded files need the scope `files:read`).
 */
export async function mailFiles(
  ctx: Context,
  { attachments, fileUids }: Pick<MailInput, 'attachments' | 'fileUids'>,
): Promise<NewMessageFile[]> {
  const files = [...(await given(attachments ?? [])), ...(await uploaded(ctx, fileUids ?? []))];
  if (files.length > MESSAGE_FILES_MAX)
    throw refused('attachments', `A message may have at most ${MESSAGE_FILES_MAX} files.`);
  const bytes = files.reduce((sum, { size }) => sum + encodedBytes(size), 0);
  if (bytes > MESSAGE_BYTES_MAX)
    throw refused(
      'attachments',
      `With its files, the message is larger than the ${MESSAGE_BYTES_MAX / 1_048_576} MB that mailboxes accept.`,
    );
  return files.map(({ size: _size, ...file }) => file);
}

async function given(attachments: NonNullable<MailInput['attachments']>): Promise<SizedFile[]> {
  const files: SizedFile[] = [];
  for (const { name: givenName, content } of attachments) {
    const name = safeName(givenName);
    const found = await fileTypeFromBuffer(content.subarray(0, HEAD_BYTES)).catch(() => undefined);
    const type = found?.mime ?? 'application/octet-stream';
    if (content.length === 0) throw refused('attachments', `The attachment "${name}" is empty.`);
    files.push(checked('attachments', { fileId: null, name, type, bytes: content, size: content.length }));
  }
  return files;
}

async function uploaded(ctx: Context, uids: readonly string[]): Promise<SizedFile[]> {
  if (uids.length > 0) requireScope(ctx, 'fileUids', 'files:read');
  const files: SizedFile[] = [];
  for (const uid of uids) {
    const { id, name, contentType: type, status, sizeBytes } = await findOwnedFile(ctx, uid);
    if (status !== 'ready') throw refused('fileUids', `The upload of the file "${name}" is not complete.`);
    files.push(checked('fileUids', { fileId: id, name, type, bytes: null, size: Number(sizeBytes) }));
  }
  return files;
}

function safeName(name: string): string {
  try {
    return placeOf({ name }).name;
  } catch (error) {
    if (error instanceof ValidationError) throw refused('attachments', Object.values(error.fields).flat().join(' '));
    throw error;
  }
}

function checked(field: string, file: SizedFile): SizedFile {
  if (isRefusedFile(file)) throw refused(field, `Mailbox providers refuse mail with files like "${file.name}".`);
  if (file.size > MESSAGE_FILE_BYTES_MAX)
    throw refused(field, `The file "${file.name}" is larger than ${MESSAGE_FILE_BYTES_MAX / 1_048_576} MB.`);
  return file;
}

function refused(field: string, sentence: string): ValidationError {
  return new ValidationError({ [field]: [sentence] }, 'ATTACHMENT_REFUSED');
}
