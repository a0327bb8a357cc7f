/**
 * Files that are sent with a message: which are allowed, and how large all may be together. This file reads no database; the
 * compiler of a message provides the bytes.
 */
import { extname } from 'node:path';
import { withoutTrailing } from '../../lib/without-trailing.ts';

/** Attachments and pictures of one message together. */
export const MESSAGE_FILES_MAX = 30;
/** One file, before encoding. */
export const MESSAGE_FILE_BYTES_MAX = 10_485_760;
/** The whole message after encoding: what Gmail and most others take. */
export const MESSAGE_BYTES_MAX = 26_214_400;
/** Base64 makes four bytes of three, and adds two more per 76. */
const BASE64_GROWTH = (4 / 3) * (78 / 76);
/** Headers of a part, with a reserve. */
const PART_HEAD_BYTES = 1_024;

/** A file that is sent with every copy of a message. */
export interface MessageFile {
  /** The name that recipients see. */
  readonly name: string;
  /** Media type, detected from its bytes. */
  readonly type: string;
  /** Empty where only the page of a message is needed. */
  readonly bytes: Uint8Array;
}

/** A picture that the html shows. */
export interface InlineImage extends MessageFile {
  /** Letters and digits; the left part of its Content-ID. */
  readonly id: string;
  /** What the html has in its place: `cid:logo.png`, or the file's address. */
  readonly reference: string;
  /** Its address when the message is read as a page. */
  readonly url: string;
}

export interface MessageFiles {
  readonly attachments: readonly MessageFile[];
  readonly images: readonly InlineImage[];
}

/** Bytes that files of this size add to a message. */
export function encodedBytes(fileBytes: number): number {
  return Math.ceil(fileBytes * BASE64_GROWTH) + PART_HEAD_BYTES;
}

/**
 * Files that can run when they are opened: the big mailbox providers refuse a whole mail with one of them (the list is the one
 * that Gmail publishes).
 */
const REFUSED_EXTENSIONS = new Set(
  (
    'ade adp apk appx appxbundle bat cab chm cmd com cpl diagcab diagcfg diagpack dll dmg ex ex_ exe hta img ins iso ' +
    'isp jar jnlp js jse lib lnk mde mjs msc msi msix msixbundle msp mst nsh pif ps1 scr sct shb sys vb vbe vbs vhd ' +
    'vxd wsc wsf wsh xll'
  ).split(' '),
);

/** The same by the bytes, whatever the name is. */
const REFUSED_TYPES = new Set([
  'application/x-msdownload',
  'application/x-elf',
  'application/x-mach-binary',
  'application/java-vm',
  'application/x-apple-diskimage',
  'application/x-ms-shortcut',
  'application/x-msi',
  'application/vnd.android.package-archive',
  'application/vnd.ms-cab-compressed',
]);

/** Types that cannot be detected from the bytes. */
const TYPES_BY_EXTENSION: Readonly<Record<string, string>> = {
  txt: 'text/plain',
  csv: 'text/csv',
  ics: 'text/calendar',
  vcf: 'text/vcard',
  md: 'text/markdown',
  json: 'application/json',
};

const DOT_OR_SPACE = /[.\s]/;

/** Whether mailbox providers refuse mail with such a file. Dots and spaces at the end are ignored, as in Windows. */
export function isRefusedFile({ name, type }: Pick<MessageFile, 'name' | 'type'>): boolean {
  return REFUSED_EXTENSIONS.has(extensionOf(name)) || REFUSED_TYPES.has(type);
}

/** Whether mail programs show it as a picture; not SVG, which may contain scripts. */
export function isInlineImage(type: string): boolean {
  return /^image\/(png|jpeg|gif|webp|avif|bmp)$/.test(type);
}

/** The type to send it as: by its bytes, else by its name; never one that may not be sent as base64 (RFC 2046 5.2.1). */
export function typeToSend({ name, type }: Pick<MessageFile, 'name' | 'type'>): string {
  const known = type === 'application/octet-stream' ? (TYPES_BY_EXTENSION[extensionOf(name)] ?? type) : type;
  return /^(?!message\/|multipart\/)[a-z]+\/[a-z0-9.+-]{1,80}$/.test(known) ? known : 'application/octet-stream';
}

function extensionOf(name: string): string {
  return extname(withoutTrailing(name, DOT_OR_SPACE)).slice(1).toLowerCase();
}
